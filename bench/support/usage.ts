/** Ends a command with invalid arguments, before it has done anything. */
export function refuse(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}
