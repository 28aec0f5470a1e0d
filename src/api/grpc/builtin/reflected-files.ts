import { type DescFile, type DescService, toBinary } from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";

/** The .proto files of some services, with the files that they import. */
export class ReflectedFiles {
  readonly #byName = new Map<string, DescFile>();
  /** Full names of everything that the files declare. The first request fills it: most servers get none. */
  #bySymbol: ReadonlyMap<string, DescFile> | undefined;
  readonly #encoded = new Map<DescFile, Uint8Array>();

  constructor(services: readonly DescService[]) {
    for (const { file } of services) this.#add(file);
  }

  named(name: string): DescFile | undefined {
    return this.#byName.get(name);
  }

  /** `symbol`: a service, method, message, field, oneof, enum or value. */
  declaring(symbol: string): DescFile | undefined {
    this.#bySymbol ??= new Map(
      [...this.#byName.values()].flatMap((file) =>
        [...symbolsOf(file)].map((name) => [name, file] as const),
      ),
    );
    return this.#bySymbol.get(symbol);
  }

  /** The file and all its imports, so that a tool need not request each: as FileDescriptorProto. */
  encoded(file: DescFile): Uint8Array[] {
    const files = new Set([file]);
    for (const one of files) for (const imported of one.dependencies) files.add(imported);
    return [...files].map((one) => this.#encode(one));
  }

  #add(file: DescFile): void {
    if (this.#byName.has(protoName(file))) return;
    this.#byName.set(protoName(file), file);
    for (const imported of file.dependencies) this.#add(imported);
  }

  #encode(file: DescFile): Uint8Array {
    let bytes = this.#encoded.get(file);
    if (bytes === undefined) {
      bytes = toBinary(FileDescriptorProtoSchema, file.proto);
      this.#encoded.set(file, bytes);
    }
    return bytes;
  }
}

/** The name by which other files import it; the library's own name of a file lacks the extension. */
const protoName = ({ proto }: DescFile): string => proto.name;

function* symbolsOf(file: DescFile): Generator<string> {
  for (const type of nestedTypes(file)) {
    yield type.typeName;
    const within = (name: string): string => `${type.typeName}.${name}`;
    switch (type.kind) {
      case "service":
        for (const { name } of type.methods) yield within(name);
        break;
      case "message":
        for (const { name } of [...type.fields, ...type.oneofs]) yield within(name);
        break;
      case "enum":
        // The values of an enum are in the scope around it.
        for (const { name } of type.values) yield `${parentOf(type.typeName)}${name}`;
        break;
      case "extension":
        break;
    }
  }
}

const parentOf = (typeName: string): string => typeName.slice(0, typeName.lastIndexOf(".") + 1);
