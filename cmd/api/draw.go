package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/store"
)

func drawVerb() *cobra.Command {
	var show, file string
	var number int64
	cmd := &cobra.Command{
		Use:   "draw (--show=ID | --file=FILE) [--number=N]",
		Short: "Run the draw of a waiting room again",
		Long: `Runs the order of a show's waiting room again, from the key and the public value
of each draw, and prints for each number its position in the order, a line each.
What it finds out on the way goes to standard error. Exit 1: something is not
what it should be.

With --file nothing but the published draws is needed, as
GET /shows/{showId}/queue/draws answers them (- for standard input): it holds
each key against the hash that was told before. Pages of them may follow each
other. With --show it asks the
database, too, whether the public value is the digest of the entries, and
whether everybody who was called was called in this order.`,
		Example: "  curl -s https://tickets.example.org/api/v1/shows/0197a1f0-5b7e-7c3a-9d7e-1f2a3b4c5d60/queue/draws | rowlock draw --file=- --number=31337",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (show == "") == (file == "") {
				return usageError{errors.New("draw takes either --show or --file")}
			}
			d := drawing{out: bufio.NewWriter(cmd.OutOrStdout()), say: cmd.ErrOrStderr(), only: number}
			if file != "" {
				in := io.NopCloser(cmd.InOrStdin())
				if file != "-" {
					var err error
					if in, err = os.Open(file); err != nil {
						return err
					}
				}
				defer in.Close()
				return d.file(in)
			}
			id, err := uuid.Parse(show)
			if err != nil {
				return usageError{fmt.Errorf("--show: %q is no id", show)}
			}
			return onStore(cmd, func(ctx context.Context, s *store.Store) error { return d.show(ctx, s, id) })
		},
	}
	takes(cmd, databaseSettings...)
	cmd.Flags().StringVar(&show, "show", "", "id of the show, whose database is asked")
	cmd.Flags().StringVar(&file, "file", "", "the published draws, as JSON; - for standard input")
	cmd.Flags().Int64Var(&number, "number", 0, "print this number's position only")
	return cmd
}

// drawing runs draws again.
type drawing struct {
	out  *bufio.Writer
	say  io.Writer
	only int64 // print this number's place and nothing else; 0: all
	seen bool  // only was among them
	bad  int
}

func (d *drawing) wrong(format string, args ...any) {
	d.bad++
	fmt.Fprintf(d.say, "WRONG  "+format+"\n", args...)
}

// end says whether all was right.
func (d *drawing) end() error {
	if d.only != 0 && !d.seen {
		d.wrong("number %d has no place in these draws", d.only)
	}
	if err := d.out.Flush(); err != nil {
		return err
	}
	if d.bad > 0 {
		return errSilent
	}
	return nil
}

// order prints a drawn round's order, and returns it by number less its first.
func (d *drawing) order(r *boxoffice.QueueRound) []int64 {
	draw := r.Draw()
	positions := make([]int64, r.Entries)
	for i := range positions {
		positions[i] = r.First + int64(draw.At(uint64(i))) + 1
		if n := r.First + int64(i) + 1; d.only == 0 || d.only == n {
			d.seen = true
			fmt.Fprintf(d.out, "%d\t%d\n", n, positions[i])
		}
	}
	return positions
}

// drawsMax is the most entries a published draw is believed to have.
const drawsMax = 100_000_000

// published are draws as the API tells them.
type published struct {
	Draws []struct {
		Draw           int
		First, Entries int64
		KeyHash, Key   string
		PublicValue    string
		PublicFrom     string
	}
}

// file runs what was published again: one page of it or several.
func (d *drawing) file(in io.Reader) error {
	pages := json.NewDecoder(in)
	for n := 0; ; n++ {
		var page published
		if err := pages.Decode(&page); n > 0 && errors.Is(err, io.EOF) {
			return d.end()
		} else if err != nil {
			return fmt.Errorf("the published draws: %w", err)
		}
		d.page(&page)
	}
}

func (d *drawing) page(page *published) {
	for _, p := range page.Draws {
		if p.Key == "" {
			fmt.Fprintf(d.say, "draw %d is not drawn yet; its key's hash is %s\n", p.Draw, p.KeyHash)
			continue
		}
		key, err := hex.DecodeString(p.Key)
		if err != nil || p.Entries < 0 || p.Entries > drawsMax {
			d.wrong("draw %d cannot be read", p.Draw)
			continue
		}
		if sum := sha256.Sum256(key); hex.EncodeToString(sum[:]) != p.KeyHash {
			d.wrong("draw %d: the key is not the one whose hash was told", p.Draw)
		}
		fmt.Fprintf(d.say, "draw %d: %d entries, by %q from %s\n", p.Draw, p.Entries, p.PublicValue, p.PublicFrom)
		d.order(&boxoffice.QueueRound{Round: p.Draw, First: p.First, Entries: p.Entries, Key: key, PublicValue: p.PublicValue})
	}
}

// show runs the draws of a show again and holds them against its database.
func (d *drawing) show(ctx context.Context, s *store.Store, show uuid.UUID) error {
	const page = 5000
	called := map[int64]int64{}
	for after := int64(0); ; {
		list, err := s.QueueCalled(ctx, show, after, page)
		if err != nil {
			return plainly(err)
		}
		for _, c := range list {
			called[c.Number], after = c.Position, c.Number
		}
		if len(list) < page {
			break
		}
	}
	held := 0
	for from := 1; ; {
		rounds, err := s.QueueRounds(ctx, show, from, page)
		if err != nil {
			return plainly(err)
		}
		for i := range rounds {
			r := &rounds[i]
			from = r.Round + 1
			if !r.Drawn() {
				fmt.Fprintf(d.say, "draw %d is not drawn yet: %d entries; its key's hash is %s\n", r.Round, r.Entries, r.KeyHash())
				continue
			}
			for n, p := range d.order(r) {
				if was, ok := called[r.First+int64(n)+1]; ok {
					if held++; was != p {
						d.wrong("number %d was called as %d, its position is %d", r.First+int64(n)+1, was, p)
					}
				}
			}
			if err := d.digest(ctx, s, show, r); err != nil {
				return err
			}
		}
		if len(rounds) < page {
			break
		}
	}
	if held != len(called) {
		d.wrong("%d were called who are in no draw", len(called)-held)
	}
	fmt.Fprintf(d.say, "%d were called, in this order\n", held)
	return d.end()
}

// digest holds a round's public value against its entries.
func (d *drawing) digest(ctx context.Context, s *store.Store, show uuid.UUID, r *boxoffice.QueueRound) error {
	fmt.Fprintf(d.say, "draw %d: %d entries, by %q from %s\n", r.Round, r.Entries, r.PublicValue, r.PublicFrom)
	digest, n := boxoffice.DigestStart(show, r.Round), r.First
	for n < r.First+r.Entries {
		list, err := s.QueueEntries(ctx, show, n, int(min(5000, r.First+r.Entries-n)))
		if err != nil {
			return plainly(err)
		}
		for _, e := range list {
			digest, n = boxoffice.DigestEntry(digest, e.ID), e.Number
		}
		if len(list) == 0 {
			fmt.Fprintf(d.say, "draw %d: its entries have been forgotten, and their digest cannot be made again\n", r.Round)
			return nil
		}
	}
	if sum := hex.EncodeToString(digest); r.PublicFrom == boxoffice.DrawnFromEntries && sum != r.PublicValue {
		d.wrong("draw %d: the digest of the entries is %s", r.Round, sum)
	}
	return nil
}
