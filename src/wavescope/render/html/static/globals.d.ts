// What browsers and libraries of a page have beyond what TypeScript knows of.

declare class DecompressionStream implements GenericTransformStream {
  constructor(format: "deflate" | "deflate-raw" | "gzip");
  readonly readable: ReadableStream;
  readonly writable: WritableStream;
}

/** Draws the plots of a page that carries its script. */
declare function vegaEmbed(element: HTMLElement, spec: object, options: object): Promise<unknown>;
