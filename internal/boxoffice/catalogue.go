package boxoffice

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/text/cases"
	"golang.org/x/text/currency"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"
)

// Limits of what the catalogue takes, in characters where nothing else is said.
const (
	NameMax        = 200 // venues, halls, cities
	TitleMax       = 300
	GenreMax       = 100
	LanguageMax    = 35
	AgeRatingMax   = 50
	DescriptionMax = 20_000
	PosterURLMax   = 2_000
	DurationMax    = 100_000 // minutes
	ExternalRefMax = 200
	NoteMax        = 2_000
	TagMax         = 50 // an entry of a show's format or accessibility
	TagsMax        = 20 // entries of each
	PartMax        = 64 // a category, a ticket type, an area's name
	MetadataMax    = 20 // pairs
	MetadataKeyMax = 40
	MetadataMost   = 500 // of a value
	ReasonMax      = 500 // why seats are blocked
	CapacityMax    = 1_000_000
	AmountMax      = 1_000_000_000_000 // minor units, one place
	AreasMax       = 1_000             // of a stock
	PricesMax      = 2_000             // of a show
	PerCustomerMax = 1_000_000
)

// Times of the catalogue lie in these years: far enough for every plan, and
// every zone can still print them with four digits.
var (
	timeMin = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
	timeMax = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
)

// Venue is a house: a theatre, a cinema, an arena.
type Venue struct {
	ID             uuid.UUID
	OrganisationID uuid.UUID
	Name           string // 1…[NameMax]
	City           string // 1…[NameMax]
	Country        string // ISO 3166-1 alpha-2
	TimeZone       string // IANA name; its days are the days of the catalogue
	ExternalRef    string // the organiser's own identifier, unique in the organisation; "" when none
	Revision       int64  // raised by each change
	CreatedAt      time.Time
}

// Hall is a room of a venue, for which plans are drawn.
type Hall struct {
	ID             uuid.UUID
	OrganisationID uuid.UUID
	VenueID        uuid.UUID
	Name           string // 1…[NameMax]
	ExternalRef    string // "" when none
	Revision       int64
	CreatedAt      time.Time
}

// EventKind says what people come for.
type EventKind string

// EventKinds lists every kind, in the order of the docs.
var EventKinds = []EventKind{"movie", "concert", "play", "match", "festival", "talk", "other"}

// EventStatus is where an event is in its life.
type EventStatus string

// The states of an event: a draft is published with its first published show.
const (
	EventDraft     EventStatus = "draft"
	EventPublished EventStatus = "published"
	EventArchived  EventStatus = "archived" // out of the lists
)

// Event is a film, a concert, a play, a match. Empty fields are not known.
type Event struct {
	ID              uuid.UUID
	OrganisationID  uuid.UUID
	Kind            EventKind
	Title           string // 1…[TitleMax]
	Genre           string
	Language        string // BCP 47
	DurationMinutes int    // 1…[DurationMax]; 0 when not known
	AgeRating       string
	Description     string
	PosterURL       string // http or https
	Status          EventStatus
	ExternalRef     string
	Revision        int64
	CreatedAt       time.Time
}

// Cancellation is a show's policy for buyers who cancel their bookings.
type Cancellation struct {
	UntilMinutesBeforeStart int `json:"untilMinutesBeforeStart" minimum:"0" maximum:"525600" doc:"How long before the start a buyer may cancel at the latest, minutes" example:"1440"`
	RefundPercent           int `json:"refundPercent" minimum:"0" maximum:"100" doc:"How much of the price is given back" example:"100"`
}

// ShowFacts are what is told about a show and decides nothing.
type ShowFacts struct {
	DoorsAt       *time.Time
	Language      string   // BCP 47, when it differs from the event's
	Format        []string // imax, 3d, dubbed
	Accessibility []string // subtitled, audio_description, relaxed
	Note          string   // shown to buyers
	Cancellation  *Cancellation
	TestMode      bool
	ExternalRef   string
	Metadata      map[string]string // at most [MetadataMax] pairs
}

// Checks collects what is wrong with an input, field by field, and brings
// texts into the form in which they are kept. Prefix stands before each field.
type Checks struct {
	Prefix string
	Found  []Violation
}

// Err is VALIDATION_ERROR with all that was found, or nil.
func (c *Checks) Err() error {
	if c.Found == nil {
		return nil
	}
	return Invalid(c.Found...)
}

// Add notes a violation.
func (c *Checks) Add(field, format string, args ...any) {
	c.Found = append(c.Found, Violation{Field: c.Prefix + field, Message: fmt.Sprintf(format, args...)})
}

// Line checks a text of one line with least…most characters: in Unicode form
// NFC, without space around it.
func (c *Checks) Line(field string, s *string, least, most int) {
	c.text(field, s, least, most, false)
}

// Lines checks a text that may have several lines.
func (c *Checks) Lines(field string, s *string, least, most int) { c.text(field, s, least, most, true) }

func (c *Checks) text(field string, s *string, least, most int, lines bool) {
	*s = strings.TrimSpace(norm.NFC.String(*s))
	switch n := utf8.RuneCountInString(*s); {
	case !utf8.ValidString(*s):
		c.Add(field, "must be valid UTF-8")
	case n < least:
		c.Add(field, "must not be empty")
	case n > most:
		c.Add(field, "expected length <= %d", most)
	case strings.ContainsFunc(*s, func(r rune) bool { return unicode.IsControl(r) && !(lines && (r == '\n' || r == '\r' || r == '\t')) }):
		c.Add(field, "must not contain control characters")
	}
}

// Language checks a BCP 47 tag and brings it into its usual spelling; "" is
// taken for not known.
func (c *Checks) Language(field string, s *string) {
	if *s == "" {
		return
	}
	tag, err := language.Parse(*s)
	if err != nil || len(tag.String()) > LanguageMax {
		c.Add(field, "must be a BCP 47 language tag such as en or pt-BR")
		return
	}
	*s = tag.String()
}

// Instant checks a point in time and cuts it to the microsecond, which is what
// the database keeps.
func (c *Checks) Instant(field string, t *time.Time) {
	if t == nil {
		return
	}
	if t.Before(timeMin) || !t.Before(timeMax) {
		c.Add(field, "must be between %d and %d", timeMin.Year(), timeMax.Year()-1)
	}
	*t = t.UTC().Truncate(time.Microsecond)
}

// tender are the currencies that are legal tender somewhere: nobody sells
// tickets in gold, in test codes or in currencies of the past.
var tender = func() map[string]bool {
	m := map[string]bool{}
	for it := currency.Query(); it.Next(); {
		m[it.Unit().String()] = true
	}
	return m
}()

// Currency checks an ISO 4217 code.
func (c *Checks) Currency(field, code string) {
	if !tender[code] {
		c.Add(field, "must be a current ISO 4217 code such as EUR")
	}
}

// Between checks a number.
func (c *Checks) Between(field string, n, least, most int64) {
	if n < least || n > most {
		c.Add(field, "expected number between %d and %d", least, most)
	}
}

// Metadata checks the organiser's own pairs.
func (c *Checks) Metadata(field string, m map[string]string) {
	if len(m) > MetadataMax {
		c.Add(field, "expected at most %d pairs", MetadataMax)
		return
	}
	for k, v := range m {
		if n := utf8.RuneCountInString(k); n < 1 || n > MetadataKeyMax {
			c.Add(field, "expected keys of 1 to %d characters", MetadataKeyMax)
		}
		if utf8.RuneCountInString(v) > MetadataMost {
			c.Add(field, "expected values of at most %d characters", MetadataMost)
		}
	}
}

func (c *Checks) tags(field string, list []string) {
	if len(list) > TagsMax {
		c.Add(field, "expected at most %d entries", TagsMax)
		return
	}
	for i := range list {
		c.Line(fmt.Sprintf("%s[%d]", field, i), &list[i], 1, TagMax)
	}
}

// Check brings the venue's texts into form and refuses what cannot be. That
// its zone exists is for the store to find out.
func (v *Venue) Check(c *Checks) {
	c.Line("name", &v.Name, 1, NameMax)
	c.Line("city", &v.City, 1, NameMax)
	if r, err := language.ParseRegion(v.Country); err != nil || !r.IsCountry() || r.Canonicalize().String() != v.Country {
		c.Add("country", "must be an ISO 3166-1 code of two letters such as DE")
	}
	c.Line("externalRef", &v.ExternalRef, 0, ExternalRefMax)
}

// Check brings the hall's texts into form and refuses what cannot be.
func (h *Hall) Check(c *Checks) {
	c.Line("name", &h.Name, 1, NameMax)
	c.Line("externalRef", &h.ExternalRef, 0, ExternalRefMax)
}

// Check brings the event's texts into form and refuses what cannot be.
func (e *Event) Check(c *Checks) {
	if !slices.Contains(EventKinds, e.Kind) {
		c.Add("kind", "must be one of %v", EventKinds)
	}
	c.Line("title", &e.Title, 1, TitleMax)
	c.Line("genre", &e.Genre, 0, GenreMax)
	c.Language("language", &e.Language)
	if e.DurationMinutes != 0 {
		c.Between("durationMinutes", int64(e.DurationMinutes), 1, DurationMax)
	}
	c.Line("ageRating", &e.AgeRating, 0, AgeRatingMax)
	c.Lines("description", &e.Description, 0, DescriptionMax)
	c.Line("posterUrl", &e.PosterURL, 0, PosterURLMax)
	if u, err := url.Parse(e.PosterURL); e.PosterURL != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "") {
		c.Add("posterUrl", "must be an http or https address")
	}
	c.Line("externalRef", &e.ExternalRef, 0, ExternalRefMax)
}

// Check brings the facts' texts into form and refuses what cannot be.
func (f *ShowFacts) Check(c *Checks) {
	c.Instant("doorsAt", f.DoorsAt)
	c.Language("language", &f.Language)
	c.tags("format", f.Format)
	c.tags("accessibility", f.Accessibility)
	c.Lines("note", &f.Note, 0, NoteMax)
	if f.Cancellation != nil {
		c.Between("cancellation.untilMinutesBeforeStart", int64(f.Cancellation.UntilMinutesBeforeStart), 0, 525_600)
		c.Between("cancellation.refundPercent", int64(f.Cancellation.RefundPercent), 0, 100)
	}
	c.Line("externalRef", &f.ExternalRef, 0, ExternalRefMax)
	c.Metadata("metadata", f.Metadata)
}

// SearchForm is how a title is kept for searching and how a search is looked
// for in it: letters that differ only in case, width or composition are alike,
// in any script.
func SearchForm(s string) string {
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(s)))
}
