// Package payment is the port to payment gateways, and one file for each of
// them. It knows nothing of shows and holds: what a payment means for a seat
// is decided in boxoffice, and in which order things are done in checkout.
package payment
