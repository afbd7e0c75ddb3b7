package boxoffice

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// fields are the fields that a check found something wrong with.
func fields(check func(*Checks)) string {
	var c Checks
	check(&c)
	var names []string
	for _, v := range c.Found {
		if v.Message == "" {
			names = append(names, "(without a message)")
		}
		names = append(names, v.Field)
	}
	if (c.Err() != nil) != (names != nil) || names != nil && CodeOf(c.Err()) != CodeValidation {
		names = append(names, "(another error)")
	}
	return strings.Join(names, " ")
}

func TestVenueCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Venue)
		want   string
	}{
		"as it should be":       {func(*Venue) {}, ""},
		"any script":            {func(v *Venue) { v.Name, v.City = "大劇場", "臺北"; v.Country = "TW" }, ""},
		"without a name":        {func(v *Venue) { v.Name = " \t " }, "name"},
		"the longest name":      {func(v *Venue) { v.Name = strings.Repeat("é", NameMax) }, ""},
		"a longer name":         {func(v *Venue) { v.Name = strings.Repeat("é", NameMax+1) }, "name"},
		"U+0000":                {func(v *Venue) { v.City = "Ber\x00lin" }, "city"},
		"broken UTF-8":          {func(v *Venue) { v.City = "Berlin\xff" }, "city"},
		"a line break":          {func(v *Venue) { v.ExternalRef = "a\nb" }, "externalRef"},
		"a country in words":    {func(v *Venue) { v.Country = "Germany" }, "country"},
		"a country's old code":  {func(v *Venue) { v.Country = "UK" }, "country"},
		"a country in small":    {func(v *Venue) { v.Country = "de" }, "country"},
		"a continent":           {func(v *Venue) { v.Country = "150" }, "country"},
		"everything at once":    {func(v *Venue) { *v = Venue{} }, "name city country"},
		"three letters":         {func(v *Venue) { v.Country = "DEU" }, "country"},
		"a reference too long":  {func(v *Venue) { v.ExternalRef = strings.Repeat("x", ExternalRefMax+1) }, "externalRef"},
		"space around the name": {func(v *Venue) { v.Name = "  Schauspiel " }, ""},
	} {
		v := Venue{Name: "Schauspiel", City: "Berlin", Country: "DE"}
		c.change(&v)
		if got := fields(v.Check); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if v.Name != strings.TrimSpace(v.Name) {
			t.Errorf("%s: the name stays %q", name, v.Name)
		}
	}
}

func TestEventCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Event)
		want   string
	}{
		"as it should be":         {func(*Event) {}, ""},
		"of no kind":              {func(e *Event) { e.Kind = "party" }, "kind"},
		"without a title":         {func(e *Event) { e.Title = "" }, "title"},
		"a usual language":        {func(e *Event) { e.Language = "pt-br" }, ""},
		"no language":             {func(e *Event) { e.Language = "not a language" }, "language"},
		"a long description":      {func(e *Event) { e.Description = strings.Repeat("Zeile\n", 3000) }, ""},
		"a bell in it":            {func(e *Event) { e.Description = "a\ab" }, "description"},
		"for ever":                {func(e *Event) { e.DurationMinutes = DurationMax + 1 }, "durationMinutes"},
		"backwards":               {func(e *Event) { e.DurationMinutes = -1 }, "durationMinutes"},
		"a poster on the web":     {func(e *Event) { e.PosterURL = "https://example.org/p.png" }, ""},
		"a poster that is script": {func(e *Event) { e.PosterURL = "javascript:alert(1)" }, "posterUrl"},
		"a poster on no host":     {func(e *Event) { e.PosterURL = "https:///p.png" }, "posterUrl"},
		"a poster in a file":      {func(e *Event) { e.PosterURL = "/p.png" }, "posterUrl"},
	} {
		e := Event{Kind: "play", Title: "Hamlet"}
		c.change(&e)
		if got := fields(e.Check); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if e.Language != "" && c.want == "" && e.Language != "pt-BR" {
			t.Errorf("%s: the language is kept as %q", name, e.Language)
		}
	}
}

func TestShowFactsCheck(t *testing.T) {
	t.Parallel()
	pairs := func(n int) map[string]string {
		m := map[string]string{}
		for i := range n {
			m[strings.Repeat("k", i+1)] = "v"
		}
		return m
	}
	for name, c := range map[string]struct {
		facts ShowFacts
		want  string
	}{
		"nothing":              {ShowFacts{}, ""},
		"all":                  {ShowFacts{DoorsAt: new(noon), Language: "de", Format: []string{"imax"}, Accessibility: []string{"subtitled"}, Note: "a\nb", Cancellation: &Cancellation{1440, 100}, Metadata: pairs(MetadataMax)}, ""},
		"an empty format":      {ShowFacts{Format: []string{"imax", " "}}, "format[1]"},
		"too many formats":     {ShowFacts{Format: slices.Repeat([]string{"x"}, TagsMax+1)}, "format"},
		"more than all back":   {ShowFacts{Cancellation: &Cancellation{0, 101}}, "cancellation.refundPercent"},
		"after the start":      {ShowFacts{Cancellation: &Cancellation{-1, 0}}, "cancellation.untilMinutesBeforeStart"},
		"doors in the past":    {ShowFacts{DoorsAt: new(time.Date(1969, 12, 31, 23, 59, 59, 0, time.UTC))}, "doorsAt"},
		"doors in far futures": {ShowFacts{DoorsAt: new(time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC))}, "doorsAt"},
		"too many pairs":       {ShowFacts{Metadata: pairs(MetadataMax + 1)}, "metadata"},
		"a pair without key":   {ShowFacts{Metadata: map[string]string{"": "v"}}, "metadata"},
		"a key too long":       {ShowFacts{Metadata: map[string]string{strings.Repeat("é", MetadataKeyMax+1): "v"}}, "metadata"},
		"a value too long":     {ShowFacts{Metadata: map[string]string{"k": strings.Repeat("é", MetadataMost+1)}}, "metadata"},
	} {
		if got := fields(c.facts.Check); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestHallCheck(t *testing.T) {
	t.Parallel()
	h := Hall{Name: " Großer Saal "}
	if got := fields(h.Check); got != "" || h.Name != "Großer Saal" {
		t.Errorf("%q, kept as %q", got, h.Name)
	}
	if got := fields((&Hall{}).Check); got != "name" {
		t.Errorf("a hall without a name: %q", got)
	}
}

func TestTextsAreKeptComposed(t *testing.T) {
	t.Parallel()
	h := Hall{Name: "Café"} // e and an accent
	if got := fields(h.Check); got != "" || h.Name != "Café" {
		t.Errorf("%q, kept as %q", got, h.Name)
	}
}

func TestInstantsAreKeptToTheMicrosecondInUTC(t *testing.T) {
	t.Parallel()
	at := noon.Add(1234567 * time.Nanosecond).In(time.FixedZone("", 3600))
	if got := fields(func(c *Checks) { c.Instant("at", &at); c.Instant("none", nil) }); got != "" || !at.Equal(noon.Add(1234*time.Microsecond)) || at.Location() != time.UTC {
		t.Errorf("%q, kept as %v", got, at)
	}
}

func TestCurrencies(t *testing.T) {
	t.Parallel()
	for code, ok := range map[string]bool{"EUR": true, "JPY": true, "KWD": true, "CHF": true, "eur": false, "DEM": false, "XAU": false, "XXX": false, "XTS": false, "": false, "EURO": false} {
		if got := fields(func(c *Checks) { c.Currency("currency", code) }) == ""; got != ok {
			t.Errorf("%q is a currency: %v", code, got)
		}
	}
}

func TestViolationsNameTheWholePath(t *testing.T) {
	t.Parallel()
	c := Checks{Prefix: "event."}
	c.Between("durationMinutes", 0, 1, 5)
	c.Line("title", new(""), 1, 5)
	if err := c.Err(); err == nil || c.Found[0].Field != "event.durationMinutes" || c.Found[1].Field != "event.title" {
		t.Errorf("%v: %+v", err, c.Found)
	}
}

func TestSearchFormsAreAlike(t *testing.T) {
	t.Parallel()
	for _, alike := range [][]string{
		{"Straße", "STRASSE", "strasse"},
		{"Ｈａｍｌｅｔ", "hamlet", "HAMLET"},
		{"Café", "CAFÉ"},
		{"ΟΔΥΣΣΕΥΣ", "οδυσσευς"},
	} {
		for _, s := range alike {
			if SearchForm(s) != SearchForm(alike[0]) {
				t.Errorf("%q is looked for as %q, %q as %q", s, SearchForm(s), alike[0], SearchForm(alike[0]))
			}
		}
	}
	if SearchForm("Hamlet") == SearchForm("Hamlets") {
		t.Error("two titles are looked for as one")
	}
}
