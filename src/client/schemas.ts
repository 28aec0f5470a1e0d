/** The schemas that the command line reads files with. */
export { JobSpecSchema } from "../gen/busbar/v1/busbar_pb.ts";
export { docs } from "../gen/busbar/v1/docs.ts";
