// Canvases that are not part of the page.

/** @param {number} width device pixels @param {number} height */
export const emptyCanvas = (width, height) => {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  return canvas;
};
