//go:build unix

package postgres

import (
	"fmt"
	"os"
	osuser "os/user"
	"path/filepath"
	"strconv"
	"sync"
)

// user is who the server runs as.
type user struct {
	kind     int
	uid, gid uint32 // for nobody
}

const (
	ourselves  = iota // we are not root
	namespaced        // root outside, an ordinary user in the server's own eyes
	nobody            // the user nobody
)

// serverUser finds out once how a server can be run.
var serverUser = sync.OnceValue(func() user {
	switch {
	case os.Geteuid() != 0:
		return user{kind: ourselves}
	case canNamespace():
		return user{kind: namespaced}
	}
	u := user{kind: nobody, uid: 65534, gid: 65534}
	if found, err := osuser.Lookup("nobody"); err == nil {
		uid, errUID := strconv.ParseInt(found.Uid, 10, 64) // macOS says -2
		gid, errGID := strconv.ParseInt(found.Gid, 10, 64)
		if errUID == nil && errGID == nil {
			u.uid, u.gid = uint32(uid), uint32(gid)
		}
	}
	return u
})

// own gives the folder to the server's user.
func (u user) own(dir string) error {
	if u.kind != nobody {
		return nil
	}
	return os.Chown(dir, int(u.uid), int(u.gid))
}

// reach fails with [ErrNotAllowed] when the server's user cannot come to path,
// as with anything below root's home folder.
func (u user) reach(path string) error {
	if u.kind != nobody {
		return nil
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if info.Mode()&0o001 == 0 {
			return &Error{
				Kind: ErrNotAllowed,
				What: fmt.Sprintf("Postgres does not run as root, and the user nobody cannot come to %s past %s", path, dir),
				Do:   "run as an ordinary user, or move the checkout out of that folder",
			}
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}
