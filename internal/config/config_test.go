package config

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func env(pairs ...string) func(string) string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return m[name] }
}

const secret = "0123456789abcdef0123456789abcdef"

func TestFlagsOverrideTheEnvironmentAndTheRestIsReturned(t *testing.T) {
	t.Parallel()
	c, rest, err := Load(
		[]string{"--addr", ":9090", "apikey", "--jobs=false", "-lanes=8", "--trust-proxy", "create", "--", "--name"},
		env("ENV", "development", "ADDR", ":1", "CORS_ORIGINS", "https://a.example, https://b.example", "SHUTDOWN_TIMEOUT", "5s", "RATE_LIMIT", "0.5"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Addr != ":9090" || c.Jobs || c.Lanes != 8 || !c.TrustProxy || c.ShutdownTimeout != 5*time.Second || c.RateLimit != 0.5 ||
		fmt.Sprint(c.CORSOrigins) != "[https://a.example https://b.example]" {
		t.Errorf("got %v", c)
	}
	if got := strings.Join(rest, " "); got != "apikey create --name" {
		t.Errorf("rest %q", got)
	}
}

func TestDefaultsAreWhatAnEmptyEnvironmentGives(t *testing.T) {
	t.Parallel()
	c, _, err := Load(nil, env("SESSION_SECRET", secret))
	if err != nil {
		t.Fatal(err)
	}
	c.SessionSecret = ""
	if fmt.Sprint(c) != fmt.Sprint(Default()) {
		t.Errorf("got %v, want %v", c, Default())
	}
	if c.Addr != "localhost:8080" || c.Env != "production" || c.AuthMode != "jwt" || !c.Jobs || c.Lanes != 4 || c.LaneBatchMax != 256 || c.Level() != slog.LevelInfo {
		t.Errorf("unexpected defaults: %v", c)
	}
}

func TestOneErrorNamesEveryBadSetting(t *testing.T) {
	t.Parallel()
	_, _, err := Load([]string{"--nonsense", "--lanes=1.5", "--addr"}, env(
		"ENV", "staging", "AUTH_MODE", "none", "LANE_BATCH_MAX", "0", "SESSION_LIFE", "a while", "JOBS", "maybe",
		"SHUTDOWN_TIMEOUT", "-1s", "RATE_LIMIT", "NaN", "JWT_SECRET", "short"))
	if err == nil {
		t.Fatal("no error")
	}
	for _, name := range []string{"--nonsense", "--addr", "LANES", "ENV", "AUTH_MODE", "LANE_BATCH_MAX", "SESSION_LIFE", "JOBS", "SHUTDOWN_TIMEOUT", "RATE_LIMIT", "JWT_SECRET"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named in: %v", name, err)
		}
	}
	if strings.Contains(err.Error(), `"short"`) {
		t.Errorf("a secret is shown: %v", err)
	}
}

func TestProductionRefusesWhatIsOnlySafeAtHome(t *testing.T) {
	t.Parallel()
	_, _, err := Load(nil, env("AUTH_MODE", "mock"))
	if err == nil || !strings.Contains(err.Error(), "AUTH_MODE") || !strings.Contains(err.Error(), "SESSION_SECRET") {
		t.Errorf("got %v", err)
	}
	if _, _, err := Load(nil, env("AUTH_MODE", "mock", "ENV", "development")); err != nil {
		t.Errorf("development refuses too: %v", err)
	}
}

func TestURLsFallBackOnOneAnother(t *testing.T) {
	t.Parallel()
	c := Config{DatabaseURL: "a"}
	if c.LaneURL() != "a" || c.DirectURL() != "a" || c.ReplicaURL() != "a" || c.MigrateURL() != "a" {
		t.Error("DATABASE_URL is not the default of all")
	}
	c.DatabaseDirectURL = "b"
	if c.MigrateURL() != "b" {
		t.Error("migrations do not take the direct URL")
	}
}

func TestEverySettingIsDocumentedAndNoSecretIsPrinted(t *testing.T) {
	t.Parallel()
	help := Help()
	for _, s := range settings {
		if s.env == "" || !strings.HasSuffix(s.help, ".") || !strings.Contains(help, "`"+s.env+"`") {
			t.Errorf("setting %q is not documented", s.env)
		}
	}
	c := Default()
	c.JWTSecret, c.DatabaseURL = secret, "postgres://u:hunter2@h/d"
	var logged strings.Builder
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("starting", "config", c)
	for _, text := range []string{c.String(), fmt.Sprintf("%v %+v %s", c, c, &c), logged.String()} {
		if strings.Contains(text, secret) || strings.Contains(text, "hunter2") {
			t.Errorf("a secret is printed: %s", text)
		}
	}
}
