import { limits } from "../../src/limits.ts";
import type { DocumentOptions, ProbeResult } from "../document-callers.ts";
import { atMost, type Case, type Measure } from "../support/part.ts";

const CALLERS = 100;
const PROBE_MS = 10_000;
const BUDGET_MS = 100;

/** How long other callers wait while one sends large or hostile documents. */
export const documents: Case = {
  id: "k.documents",
  what: "latency of other callers, while the server reads the largest and worst documents that limits allow",
  async run(bench) {
    const site = bench.openSite();
    const server = await site.startServer();
    const base = await server.process.prints(/REST:\s+(\S+)/);
    const call = (work: DocumentOptions["work"]) =>
      site.startScript("document-callers.ts", { base, work } satisfies DocumentOptions);
    const forMs = bench.count(PROBE_MS);
    const probe = async (): Promise<ProbeResult> => {
      const text = await call({ kind: "probe", forMs }).prints(/^probed (.*)$/m, 600_000);
      return JSON.parse(text) as ProbeResult;
    };
    const idle = await probe();

    const graph = call({ kind: "register", bytes: bench.count(limits.documentBytesMax) });
    const vertices = await graph.prints(/^registering (\d+)$/m);
    const during = await probe();
    const first = await graph.prints(/^registered (1 times, answered \d+)$/m, 600_000);
    await graph.stop();

    const flooded = async (documents: "jobspecs" | "others"): Promise<ProbeResult> => {
      const flood = call({ kind: "flood", callers: CALLERS, documents });
      await flood.prints(/flooding/, 600_000);
      const probed = await probe();
      await flood.stop();
      return probed;
    };
    const jobspecs = await flooded("jobspecs");
    const others = await flooded("others");
    await site.close();
    return [
      ...rows("idle", idle),
      ...rows("registering", during, `${vertices} vertices, ${first}`),
      ...rows(`${CALLERS} senders of bad jobspecs`, jobspecs),
      ...rows(`${CALLERS} senders of other documents`, others),
    ];
  },
};

const rows = (when: string, probed: ProbeResult, note?: string): readonly Measure[] => [
  {
    name: `/healthz, ${when}`,
    value: probed.healthMsP99,
    unit: "ms p99",
    must: atMost(BUDGET_MS),
    note: [`worst ${Math.round(probed.healthMsMax)} ms`, note].filter(Boolean).join("; "),
  },
  {
    name: `small submit, ${when}`,
    value: probed.submitMsP99,
    unit: "ms p99",
    must: atMost(BUDGET_MS),
    note: `worst ${Math.round(probed.submitMsMax)} ms of ${probed.calls} calls`,
  },
];
