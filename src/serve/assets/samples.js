// Small drawings to try the page with, made here so that it needs no files of anybody.

const SCENES = {
  ball(draw) {
    draw.fillStyle = "#7fb2dc"; draw.fillRect(0, 0, 256, 160);
    draw.fillStyle = "#4f8f3f"; draw.fillRect(0, 160, 256, 96);
    const light = draw.createRadialGradient(105, 125, 5, 128, 150, 60);
    light.addColorStop(0, "#fff3c9"); light.addColorStop(1, "#d4591f");
    draw.fillStyle = light; draw.beginPath(); draw.arc(128, 150, 55, 0, 7); draw.fill();
  },
  house(draw) {
    draw.fillStyle = "#c7dff0"; draw.fillRect(0, 0, 256, 256);
    draw.fillStyle = "#7c9a58"; draw.fillRect(0, 200, 256, 56);
    draw.fillStyle = "#d9c7a3"; draw.fillRect(60, 110, 136, 100);
    draw.fillStyle = "#8d3b2e"; draw.beginPath(); draw.moveTo(45, 112); draw.lineTo(128, 45); draw.lineTo(211, 112); draw.fill();
    draw.fillStyle = "#4a3424"; draw.fillRect(112, 155, 32, 55);
    draw.fillStyle = "#5d7f99"; draw.fillRect(74, 130, 26, 26); draw.fillRect(156, 130, 26, 26);
  },
  fish(draw) {
    draw.fillStyle = "#14506e"; draw.fillRect(0, 0, 256, 256);
    draw.fillStyle = "#e8952c"; draw.beginPath(); draw.ellipse(118, 128, 72, 42, 0, 0, 7); draw.fill();
    draw.beginPath(); draw.moveTo(180, 128); draw.lineTo(230, 88); draw.lineTo(230, 168); draw.fill();
    draw.fillStyle = "#fff"; draw.beginPath(); draw.arc(78, 116, 11, 0, 7); draw.fill();
    draw.fillStyle = "#111"; draw.beginPath(); draw.arc(76, 116, 5, 0, 7); draw.fill();
    draw.fillStyle = "#f6d9ae"; draw.fillRect(108, 88, 9, 80); draw.fillRect(142, 95, 7, 66);
  },
};

// A button for each; chosen(file) gets it as a PNG file.
export function addSamples(place, chosen) {
  for (const [name, scene] of Object.entries(SCENES)) {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 256;
    scene(canvas.getContext("2d"));
    const button = document.createElement("button");
    button.type = "button";
    button.setAttribute("aria-label", `Sample: ${name}`);
    button.append(canvas);
    button.addEventListener("click", () => canvas.toBlob((blob) => chosen(new File([blob], `${name}.png`, { type: "image/png" }))));
    place.append(button);
  }
}
