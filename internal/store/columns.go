package store

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// The lane sends its rows as columns: an array for each argument, hundreds of
// elements long. pgx finds out anew for each element how to encode it, which
// was 40 % of all Go time in the benchmark; these columns are written in one go.
// So are the ids by which lists read a thousand shows.

// columnCodec encodes slices of the Go types that lanes use, and leaves
// everything else to pgx.
type columnCodec struct {
	*pgtype.ArrayCodec
	element uint32 // OID
}

// setTypes makes a connection encode the lanes' columns quickly, and read instants
// in UTC: as pgx reads them, they would go out in the zone that the process is in.
func setTypes(conn *pgx.Conn) {
	m := conn.TypeMap()
	instant := &pgtype.Type{Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC}}
	m.RegisterType(instant)
	m.RegisterType(&pgtype.Type{Name: "_timestamptz", OID: pgtype.TimestamptzArrayOID, Codec: &pgtype.ArrayCodec{ElementType: instant}})
	for array, element := range map[uint32]uint32{
		pgtype.UUIDArrayOID: pgtype.UUIDOID, pgtype.TimestamptzArrayOID: pgtype.TimestamptzOID,
		pgtype.Int4ArrayOID: pgtype.Int4OID, pgtype.Int8ArrayOID: pgtype.Int8OID,
		pgtype.TextArrayOID: pgtype.TextOID, pgtype.ByteaArrayOID: pgtype.ByteaOID,
	} {
		t, ok := m.TypeForOID(array)
		if !ok {
			continue
		}
		m.RegisterType(&pgtype.Type{Name: t.Name, OID: array, Codec: columnCodec{t.Codec.(*pgtype.ArrayCodec), element}})
	}
}

// PreferredFormat is binary, for text too: it needs no quoting.
func (c columnCodec) PreferredFormat() int16 { return pgtype.BinaryFormatCode }

func (c columnCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if format == pgtype.BinaryFormatCode {
		switch value.(type) {
		case []uuid.UUID, []pgtype.UUID:
			if c.element == pgtype.UUIDOID {
				return column(c.element)
			}
		case []time.Time, []pgtype.Timestamptz:
			if c.element == pgtype.TimestamptzOID {
				return column(c.element)
			}
		case []int32:
			if c.element == pgtype.Int4OID {
				return column(c.element)
			}
		case []int64, []*int64:
			if c.element == pgtype.Int8OID {
				return column(c.element)
			}
		case []string, []*string:
			if c.element == pgtype.TextOID {
				return column(c.element)
			}
		case [][]byte:
			if c.element == pgtype.ByteaOID {
				return column(c.element)
			}
		}
	}
	return c.ArrayCodec.PlanEncode(m, oid, format, value)
}

// column writes Postgres's binary form of an array: dimensions, whether there
// may be nulls, the element's type, length and lower bound; then each element
// behind its length, -1 for null.
//
// A column of nothing but nulls travels as null: unnest pads it, which costs
// less than taking an array apart (16 % of inserting a row of the log).
type column uint32

func (c column) Encode(value any, b []byte) ([]byte, error) {
	switch v := value.(type) {
	case []uuid.UUID:
		b = c.header(b, len(v), 16*len(v))
		for i := range v {
			b = append(size(b, 16), v[i][:]...)
		}
	case []pgtype.UUID:
		if !slices.ContainsFunc(v, func(id pgtype.UUID) bool { return id.Valid }) {
			return nil, nil
		}
		b = c.header(b, len(v), 16*len(v))
		for i := range v {
			if !v[i].Valid {
				b = size(b, -1)
				continue
			}
			b = append(size(b, 16), v[i].Bytes[:]...)
		}
	case []time.Time:
		b = c.header(b, len(v), 8*len(v))
		for _, t := range v {
			b = binary.BigEndian.AppendUint64(size(b, 8), microseconds(t))
		}
	case []pgtype.Timestamptz:
		if !slices.ContainsFunc(v, func(t pgtype.Timestamptz) bool { return t.Valid }) {
			return nil, nil
		}
		b = c.header(b, len(v), 8*len(v))
		for i := range v {
			if !v[i].Valid {
				b = size(b, -1)
				continue
			}
			b = binary.BigEndian.AppendUint64(size(b, 8), microseconds(v[i].Time))
		}
	case []int32:
		b = c.header(b, len(v), 4*len(v))
		for _, n := range v {
			b = binary.BigEndian.AppendUint32(size(b, 4), uint32(n))
		}
	case []int64:
		b = c.header(b, len(v), 8*len(v))
		for _, n := range v {
			b = binary.BigEndian.AppendUint64(size(b, 8), uint64(n))
		}
	case []*int64:
		if !slices.ContainsFunc(v, func(n *int64) bool { return n != nil }) {
			return nil, nil
		}
		b = c.header(b, len(v), 8*len(v))
		for _, n := range v {
			if n == nil {
				b = size(b, -1)
				continue
			}
			b = binary.BigEndian.AppendUint64(size(b, 8), uint64(*n))
		}
	case []string:
		total := 0
		for i := range v {
			total += len(v[i])
		}
		b = c.header(b, len(v), total)
		for _, s := range v {
			b = append(size(b, len(s)), s...)
		}
	case []*string:
		total, some := 0, false
		for _, s := range v {
			if s != nil {
				total, some = total+len(*s), true
			}
		}
		if !some {
			return nil, nil
		}
		b = c.header(b, len(v), total)
		for _, s := range v {
			if s == nil {
				b = size(b, -1)
				continue
			}
			b = append(size(b, len(*s)), *s...)
		}
	case [][]byte:
		total := 0
		for i := range v {
			total += len(v[i])
		}
		b = c.header(b, len(v), total)
		for _, s := range v {
			b = append(size(b, len(s)), s...)
		}
	}
	return b, nil
}

// header begins an array of n elements and makes room for their bytes.
func (c column) header(b []byte, n, bytes int) []byte {
	b = slices.Grow(b, 20+4*n+bytes)
	dimensions := uint32(1)
	if n == 0 {
		dimensions = 0
	}
	b = binary.BigEndian.AppendUint32(b, dimensions)
	b = binary.BigEndian.AppendUint32(b, 1)
	b = binary.BigEndian.AppendUint32(b, uint32(c))
	if n > 0 {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
		b = binary.BigEndian.AppendUint32(b, 1)
	}
	return b
}

func size(b []byte, n int) []byte { return binary.BigEndian.AppendUint32(b, uint32(n)) }

// postgresEpoch is where timestamps count from: 2000-01-01 UTC.
const postgresEpoch = 946684800

func microseconds(t time.Time) uint64 {
	return uint64((t.Unix()-postgresEpoch)*1_000_000 + int64(t.Nanosecond())/1000)
}
