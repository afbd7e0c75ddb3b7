// Package tickets makes what a buyer carries to the door: the signed code of a
// ticket, its QR picture and a sheet to print.
//
// # Why a signature
//
// A number that only the database knows needs the database at the door. A code
// that is signed needs nothing but the published keys ([Keys]): a scanner
// without a network still tells a real ticket from any text with an id in it.
// What a code cannot say offline is whether the ticket was cancelled or used;
// that is the check-in's answer, given then or later.
//
// A code names a ticket and its show and nothing else: no name, no seat and no
// price is in the hands of whoever photographs it.
//
// # Why fonts in the binary
//
// People are named in every script, and a name that comes out as ????? is
// somebody's ticket not accepted. The sheet is therefore shaped as HarfBuzz
// does it, from right to left where that is how it is written, with fonts that
// come along, so that it looks the same wherever the server runs.
package tickets
