import type { Histogram } from "../../../lib/histogram.ts";

/** Numbers with one name, distinguished by labels. Times are in seconds, as Prometheus expects. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly samples: readonly Sample[];
}

export interface Sample {
  /** The suffix of a histogram's lines: _bucket, _sum, _count. */
  readonly suffix?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

export const PROMETHEUS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** The text format of Prometheus. Families without samples are left out. */
export function formatMetrics(families: Iterable<MetricFamily>): string {
  let text = "";
  for (const { name, help, type, samples } of families) {
    if (samples.length === 0) continue;
    text += `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n`;
    for (const sample of samples) text += `${formatSample(name, sample)}\n`;
  }
  return text;
}

function formatSample(name: string, { suffix = "", labels = {}, value }: Sample): string {
  const pairs = Object.entries(labels).map(([key, label]) => `${key}="${escapeLabel(label)}"`);
  const inBraces = pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
  return `${name}${suffix}${inBraces} ${formatValue(value)}`;
}

function formatValue(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (Number.isFinite(value)) return String(value);
  return value > 0 ? "+Inf" : "-Inf";
}

const escapeHelp = (text: string): string =>
  text.replaceAll("\\", String.raw`\\`).replaceAll("\n", String.raw`\n`);

const escapeLabel = (text: string): string => escapeHelp(text).replaceAll('"', String.raw`\"`);

export const gauge = (name: string, help: string, value: number): MetricFamily => ({
  name,
  help,
  type: "gauge",
  samples: [{ value }],
});

export const counter = (name: string, help: string, value: number): MetricFamily => ({
  name,
  help,
  type: "counter",
  samples: [{ value }],
});

/** One gauge for each entry: `gauges("busbar_jobs", "…", "state", { pending: 3 })`. */
export const gauges = (
  name: string,
  help: string,
  label: string,
  values: Readonly<Record<string, number>>,
): MetricFamily => ({
  name,
  help,
  type: "gauge",
  samples: Object.entries(values).map(([key, value]) => ({ labels: { [label]: key }, value })),
});

/** One histogram for each entry. */
export const histogram = (
  name: string,
  help: string,
  entries: readonly {
    readonly labels: Readonly<Record<string, string>>;
    readonly times: Histogram;
  }[],
): MetricFamily => ({
  name,
  help,
  type: "histogram",
  samples: entries.flatMap(({ labels, times }) => toSamples(labels, times)),
});

/** In Prometheus each bucket also counts those before it. */
function toSamples(labels: Readonly<Record<string, string>>, times: Histogram): Sample[] {
  let count = 0;
  const samples = Array.from(times.counts, (added, at): Sample => {
    count += added;
    const boundMs = times.boundsMs[at];
    const le = boundMs === undefined ? "+Inf" : String(boundMs / 1_000);
    return { suffix: "_bucket", labels: { ...labels, le }, value: count };
  });
  samples.push({ suffix: "_sum", labels, value: times.sumMs / 1_000 });
  samples.push({ suffix: "_count", labels, value: count });
  return samples;
}
