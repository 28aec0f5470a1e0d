import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "../../src/testing/eventually.ts";
import { whyNotInstalled } from "./debian.ts";

const CHROMIUM = "/usr/bin/chromium";

/** Why a browser is not available here; undefined when it is. */
export const whyNoChromium = (): string | undefined =>
  whyNotInstalled({ packages: ["chromium"], programs: [CHROMIUM] });

interface Reply {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message: string };
}

/** A page in a headless browser, controlled by the protocol of its developer tools. */
export interface BrowserPage {
  /** The value of an expression in the page, as JSON. */
  evaluate<T>(expression: string): Promise<T>;
  /** Waits until an expression is true. */
  until(expression: string): Promise<void>;
  screenshot(file: string): Promise<void>;
  /** The page's errors, and violations of its policy. */
  readonly complaints: readonly string[];
  /** The addresses that it requested. */
  readonly requested: readonly string[];
  close(): Promise<void>;
}

export async function openPage(url: string): Promise<BrowserPage> {
  const reason = whyNoChromium();
  if (reason !== undefined) throw new Error(`there is no chromium for tests: ${reason}`);
  const profile = mkdtempSync(join(tmpdir(), "busbar-chromium-"));
  const browser = spawn(
    CHROMIUM,
    [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--no-first-run",
      "--window-size=1400,800",
      `--user-data-dir=${profile}`,
      "--remote-debugging-port=0",
      "about:blank",
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  let printed = "";
  browser.stderr.on("data", (data: Buffer) => (printed += data.toString()));
  const close = async (): Promise<void> => {
    browser.kill("SIGKILL");
    await eventually(() => browser.exitCode !== null || browser.signalCode !== null, {
      what: "the browser to end",
    });
    rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  };
  try {
    const found = await eventually(
      () => /DevTools listening on ws:\/\/([^/]+)/.exec(printed) ?? undefined,
      { what: () => `the browser to listen: ${printed}`, timeoutMs: 60_000 },
    );
    return await attach(`http://${found[1]}`, url, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function attach(
  browser: string,
  url: string,
  closeBrowser: () => Promise<void>,
): Promise<BrowserPage> {
  const targets = (await (await fetch(`${browser}/json`)).json()) as readonly {
    readonly type: string;
    readonly webSocketDebuggerUrl: string;
  }[];
  const target = targets.find(({ type }) => type === "page");
  const socket = new WebSocket(target?.webSocketDebuggerUrl ?? "");
  const waiting = new Map<number, (reply: Reply) => void>();
  const complaints: string[] = [];
  const requested: string[] = [];
  socket.addEventListener("message", ({ data }) => {
    const reply = JSON.parse(String(data)) as Reply;
    if (reply.id !== undefined) waiting.get(reply.id)?.(reply);
    const { params = {} } = reply;
    if (reply.method === "Network.requestWillBeSent") {
      requested.push((params["request"] as { readonly url: string }).url);
    } else if (reply.method === "Runtime.exceptionThrown") {
      complaints.push(JSON.stringify(params["exceptionDetails"]));
    } else if (reply.method === "Log.entryAdded") {
      complaints.push((params["entry"] as { readonly text: string }).text);
    }
  });
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve);
    socket.addEventListener("error", reject);
  });
  let last = 0;
  const ask = async (method: string, params: object = {}): Promise<Record<string, unknown>> => {
    const id = ++last;
    const reply = await new Promise<Reply>((resolve) => {
      waiting.set(id, resolve);
      socket.send(JSON.stringify({ id, method, params }));
    });
    waiting.delete(id);
    if (reply.error !== undefined) throw new Error(`${method}: ${reply.error.message}`);
    return { ...reply.result };
  };
  for (const domain of ["Page", "Runtime", "Log", "Network"]) await ask(`${domain}.enable`);
  await ask("Page.navigate", { url });
  const evaluate = async <T>(expression: string): Promise<T> => {
    const answer = await ask("Runtime.evaluate", {
      expression,
      returnByValue: true,
      awaitPromise: true,
    });
    if (answer["exceptionDetails"] !== undefined) {
      throw new Error(`${expression}: ${JSON.stringify(answer["exceptionDetails"])}`);
    }
    return (answer["result"] as { readonly value: T }).value;
  };
  return {
    evaluate,
    until: async (expression) => {
      await eventually(() => evaluate<boolean>(`Boolean(${expression})`), {
        what: expression,
        timeoutMs: 60_000,
      });
    },
    async screenshot(file) {
      const answer = await ask("Page.captureScreenshot");
      writeFileSync(file, Buffer.from(String(answer["data"]), "base64"));
    },
    complaints,
    requested,
    async close() {
      socket.close();
      await closeBrowser();
    },
  };
}
