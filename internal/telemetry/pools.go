package telemetry

import (
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
)

// poolCollector reads a pool's figures when Prometheus asks for them, so that
// nothing is counted twice and an idle pool costs nothing.
type poolCollector struct {
	stat    func() *pgxpool.Stat
	figures []poolFigure
}

type poolFigure struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(*pgxpool.Stat) float64
}

func newPoolCollector(name string, stat func() *pgxpool.Stat) *poolCollector {
	figure := func(metric, help string, kind prometheus.ValueType, read func(*pgxpool.Stat) float64) poolFigure {
		return poolFigure{prometheus.NewDesc("rowlock_pool_"+metric, help, nil, prometheus.Labels{"pool": name}), kind, read}
	}
	return &poolCollector{stat: stat, figures: []poolFigure{
		figure("connections_max", "Most connections the pool may open.", prometheus.GaugeValue,
			func(s *pgxpool.Stat) float64 { return float64(s.MaxConns()) }),
		figure("connections", "Connections open now.", prometheus.GaugeValue,
			func(s *pgxpool.Stat) float64 { return float64(s.TotalConns()) }),
		figure("connections_in_use", "Connections in use now.", prometheus.GaugeValue,
			func(s *pgxpool.Stat) float64 { return float64(s.AcquiredConns()) }),
		figure("connections_opened_total", "Connections opened so far.", prometheus.CounterValue,
			func(s *pgxpool.Stat) float64 { return float64(s.NewConnsCount()) }),
		figure("acquires_total", "Times a connection was taken.", prometheus.CounterValue,
			func(s *pgxpool.Stat) float64 { return float64(s.AcquireCount()) }),
		figure("acquires_waited_total", "Times a connection had to be waited for.", prometheus.CounterValue,
			func(s *pgxpool.Stat) float64 { return float64(s.EmptyAcquireCount()) }),
		figure("acquires_cancelled_total", "Times a caller gave up waiting.", prometheus.CounterValue,
			func(s *pgxpool.Stat) float64 { return float64(s.CanceledAcquireCount()) }),
		figure("acquire_seconds_total", "Time spent taking connections.", prometheus.CounterValue,
			func(s *pgxpool.Stat) float64 { return s.AcquireDuration().Seconds() }),
	}}
}

func (c *poolCollector) Describe(out chan<- *prometheus.Desc) {
	for _, f := range c.figures {
		out <- f.desc
	}
}

func (c *poolCollector) Collect(out chan<- prometheus.Metric) {
	s := c.stat()
	for _, f := range c.figures {
		out <- prometheus.MustNewConstMetric(f.desc, f.kind, f.read(s))
	}
}
