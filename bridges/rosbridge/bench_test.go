package rosbridge_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/bridgetest/peers"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
)

// cloud is one of 1.5 MB in the layout of SVL.
func cloud() *sample.PointCloud {
	c := bridgetest.PointCloud(0)
	for len(c.Points) < 48_000 {
		c.Points = append(c.Points, c.Points...)
	}
	c.Points = c.Points[:48_000]
	c.Layout = "svl"
	return c
}

// cloudMessage is the same as a message.
func cloudMessage(b *testing.B) ros.Message {
	b.Helper()
	for _, pub := range rossample.SVL() {
		if pub.Type == "sensor_msgs/msg/PointCloud2" {
			m, err := pub.Converter()(cloud())
			if err == nil {
				return m
			}
		}
	}
	b.Fatal("no cloud")
	return nil
}

// BenchmarkEncoderJSON and BenchmarkEncoderBSON are the encoders alone: conversion of the
// sample included, as in the client's.
func BenchmarkEncoderJSON(b *testing.B) {
	m := cloudMessage(b)
	e := encode.TreeEncoder{Version: ros.ROS1}
	var buf []byte
	for b.Loop() {
		buf = e.Append(buf[:0], m)
		b.SetBytes(int64(len(buf)))
	}
}

func BenchmarkEncoderBSON(b *testing.B) {
	m := cloudMessage(b)
	e := encode.TreeEncoder{Format: encode.BSON, Version: ros.ROS1}
	var buf []byte
	for b.Loop() {
		buf = e.Append(buf[:0], m)
		b.SetBytes(int64(len(buf)))
	}
}

// BenchmarkClientJSON and BenchmarkClientBSON send clouds to a server that counts them:
// every message arrives, publishers wait for room.
func BenchmarkClientJSON(b *testing.B) { benchmarkClient(b, "") }

func BenchmarkClientBSON(b *testing.B) { benchmarkClient(b, "&bson=1") }

func benchmarkClient(b *testing.B, options string) {
	s := started(b, peers.RosbridgeConfig{BSONOnly: options != "", Keep: -1})
	bridge := opened(b, s.Addr()+"?messages=4"+options)
	publish, err := bridges.AddPublisher[*sample.PointCloud](bridge, bridges.Topic{Name: "/points", Policy: flow.Block})
	require.NoError(b, err)
	connected(b, bridge)
	c := cloud()
	b.ReportAllocs()
	sent := 0
	for b.Loop() {
		require.NoError(b, publish(b.Context(), c))
		sent++
	}
	eventually(b, "all arrive", func() bool { return s.Received()[""] == sent })
	b.ReportMetric(float64(sent)/b.Elapsed().Seconds(), "msgs/s")
	b.SetBytes(s.Bytes() / int64(sent))
}
