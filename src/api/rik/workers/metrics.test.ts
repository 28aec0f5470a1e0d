import { expect, test } from "vitest";
import { limits } from "../../../limits.ts";
import { metricsOf } from "../testing/rik-bed.ts";
import { capacityOf, readMetrics, SampleHistory } from "./metrics.ts";

const sample = (text: string, atMs = 0) => readMetrics(text, atMs) ?? expect.fail("unreadable");

test("the latest heartbeats are retained, oldest first", () => {
  const history = new SampleHistory();
  const total = limits.rikSamplesKept + 5;
  for (let atMs = 0; atMs < total; atMs++) history.add(sample(metricsOf(4), atMs));
  expect(history.all.map(({ atMs }) => atMs)).toEqual(
    Array.from({ length: limits.rikSamplesKept }, (_, at) => at + 5),
  );
  expect(history.latest?.atMs).toBe(total - 1);
});

test("processors, memory and the largest free disk are the capacity of a worker", () => {
  const { cpus, cpuFreePercent, memoryBytes, disks } = sample(metricsOf(2, 4));
  expect([cpus, cpuFreePercent, memoryBytes]).toEqual([2, 50.5, 4 * 2 ** 30]);
  expect(disks).toEqual([{ name: "/dev/vda", bytes: 2 ** 36, freeBytes: 2 ** 35 }]);
  expect(capacityOf(sample(metricsOf(2, 4)))).toEqual({
    cpu: 2_000,
    memory: 4 * 2 ** 30,
    disk: 2 ** 35,
    instances: 2 * limits.rikInstancesPerCpu,
  });
});

test("two processors are enough for eight callers that create 10,000 instances each", () => {
  expect(capacityOf(sample(metricsOf(2, 4)))["instances"]).toBeGreaterThan(8 * 10_000);
});

test("a worker with unreadable facts still accepts instances", () => {
  for (const text of [
    "",
    "null",
    "[]",
    "{",
    '{"cpu":{"total":-1}}',
    metricsOf(9e15),
    '"'.repeat(70_000),
  ]) {
    expect(readMetrics(text, 0)).toBeUndefined();
  }
  expect(capacityOf(undefined)).toEqual({ instances: limits.rikInstancesPerCpu });
});
