package main

import (
	"context"
	"errors"
	"time"

	"github.com/plinthhost/plinth/host/wasm"
)

const (
	hostilesAtOnce = 4
	pauseTime      = 300 * time.Millisecond // for each choice of hostile guests
)

// measurePauses has the collector work while four hostile guests run at a time,
// every guest at least once among them in each round.
func measurePauses(ctx context.Context, _ *bench) (err error) {
	c, err := gather(ctx, hostilesAtOnce)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	var plain []float64
	longest, err := overRounds(func() (float64, error) {
		besideSpinning(hostilesAtOnce, func() { plain = append(plain, longestPause(pauseTime)) })
		most := 0.0
		for first := 0; first < len(c.modules); first += hostilesAtOnce {
			for i := range hostilesAtOnce {
				c.join(ctx, wasm.LaneTool, c.modules[(first+i)%len(c.modules)])
			}
			most = max(most, longestPause(pauseTime))
			if err := c.leave(); err != nil {
				return 0, err
			}
		}
		note("longest pause: %.3f ms", most)
		return most, nil
	})
	if err != nil {
		return err
	}
	figure("machine.gc_pause_busy_ms_max", median(plain), "ms")
	figure("engine.gc_pause_ms_max", longest, "ms")
	return nil
}

// codecCalls are made in a round.
const codecCalls = 200

// measureCodec makes empty calls in the lane of codecs while two tools spin. What
// counts begins when the caller should have woken up.
func measureCodec(ctx context.Context, _ *bench) (err error) {
	c, err := gather(ctx, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	codec, err := c.engine.Load(ctx, smallSpec(wasm.Restore))
	if err != nil {
		return err
	}
	c.join(ctx, wasm.LaneTool, c.modules[0], c.modules[1])
	delay, err := overRounds(func() (float64, error) {
		var delays []float64
		for range codecCalls {
			due := time.Now().Add(2 * time.Millisecond)
			time.Sleep(time.Until(due))
			if _, err := codec.Call(ctx, wasm.Request{Entry: "noop", Lane: wasm.LaneQuick, Session: "codec"}); err != nil {
				return 0, err
			}
			delays = append(delays, milliseconds(time.Since(due)))
		}
		note("codec call: median %.3f ms, p99 %.3f ms", median(delays), percentile(delays, 99))
		return percentile(delays, 99), nil
	})
	if err != nil {
		return err
	}
	figure("engine.codec_delay_ms_p99", delay, "ms")
	return nil
}
