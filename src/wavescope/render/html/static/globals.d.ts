// What libraries that a page carries put into its global scope.

/** Draws plots. */
declare function vegaEmbed(element: HTMLElement, spec: object, options: object): Promise<unknown>;
