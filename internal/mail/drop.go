package mail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Drop writes mails into a folder instead of sending them: ID.eml, as it would
// go out, and ID.html to look at in a browser. A message written twice is one
// file.
type Drop struct{ dir string }

// NewDrop returns the drop in a folder, which is made when the first mail
// comes.
func NewDrop(dir string) *Drop { return &Drop{dir} }

// String is the folder.
func (d *Drop) String() string { return d.dir }

// Send writes the message. What it writes is only for the user it runs as:
// mails are personal data.
func (d *Drop) Send(ctx context.Context, m Message) error {
	msg, err := m.compose()
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return fmt.Errorf("mail folder: %w", err)
	}
	if m.HTML != "" {
		if err := d.write(m.ID+".html", strings.NewReader(m.HTML)); err != nil {
			return err
		}
	}
	// Last, so that a mail whose .eml is there is whole.
	return d.write(m.ID+".eml", msg.NewReader())
}

// write makes the file appear at once and whole, for whoever watches the folder.
func (d *Drop) write(name string, content io.Reader) (err error) {
	f, err := os.CreateTemp(d.dir, ".mail-*") // 0600
	if err != nil {
		return fmt.Errorf("mail folder: %w", err)
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
			err = fmt.Errorf("mail folder: %w", err)
		}
	}()
	if _, err := io.Copy(f, content); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(d.dir, name))
}
