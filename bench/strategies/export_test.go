package strategies

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Forget has Redis lose all it knows.
func Forget(ctx context.Context, addr string) error {
	c := redis.NewClient(&redis.Options{Addr: addr, Protocol: 2})
	defer func() { _ = c.Close() }()
	return c.FlushAll(ctx).Err()
}

// Ends is when the seats that are taken in Redis will be free, in milliseconds
// since 1970.
func Ends(ctx context.Context, addr string) (ends []int64, err error) {
	c := redis.NewClient(&redis.Options{Addr: addr, Protocol: 2})
	defer func() { _ = c.Close() }()
	keys, err := c.Keys(ctx, "seat:*").Result()
	for _, key := range keys {
		at, failed := c.PExpireTime(ctx, key).Result()
		if failed != nil {
			return nil, failed
		}
		ends = append(ends, at.Milliseconds())
	}
	return ends, err
}
