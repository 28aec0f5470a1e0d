import { createServer, connect, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { eventually } from "../../testing/eventually.ts";
import { boundSendBuffer } from "./send-buffer.ts";

const PART = Buffer.alloc(64 * 1024);
const PARTS = 320;

/** How many of 20 MiB the kernel accepts for a peer that reads nothing. */
async function takenUnread(prepare: (socket: Socket) => void): Promise<number> {
  let taken = 0;
  let accepted: Socket | undefined;
  const server = createServer((socket) => {
    accepted = socket;
    prepare(socket);
    for (let part = 0; part < PARTS; part++) socket.write(PART, () => (taken += PART.length));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const peer = connect(port, "127.0.0.1").pause();
  let [before, looks] = [-1, 0];
  const isStill = (): boolean => {
    looks = taken === before && taken > 0 ? looks + 1 : 0;
    before = taken;
    return looks === 10;
  };
  try {
    await eventually(isStill, { what: "the kernel to take no more" });
  } finally {
    peer.destroy();
    accepted?.destroy();
    server.close();
  }
  return taken;
}

test.runIf(process.platform === "linux")(
  "the buffer for a peer that does not read is bounded",
  async () => {
    const bounded = await takenUnread((socket) => {
      expect(boundSendBuffer(socket, 64 * 1024)).toBe(true);
    });
    // The bytes are in two buffers: the sender's, and the receiver's, which belongs to the peer.
    expect(bounded).toBeLessThan(1024 * 1024);
    expect(await takenUnread(() => undefined)).toBeGreaterThan(2 * bounded);
  },
);

test("a closed socket has no buffer", () => {
  expect(boundSendBuffer({ destroyed: true }, 64 * 1024)).toBe(false);
});
