// Images of the index that look like the chosen one to the network: pictures where the server shows them, names in
// any case.
import * as api from "./api.js";

async function addPicture(item, path, words) {
  const picture = document.createElement("img");
  picture.alt = words;
  item.prepend(picture);
  try {
    picture.src = URL.createObjectURL(await api.picture(path));
    await picture.decode();
  } catch {
    picture.remove();  // moved or deleted since the index was made: its name has to do
  }
  URL.revokeObjectURL(picture.src);
}

// A list item for each; they are there at once, their pictures come as they come.
export function items(found) {
  return found.map(({ name, similarity, labels, picture }) => {
    const item = document.createElement("li");
    const words = [name, ...Object.values(labels)].join(" · ");
    item.append(`${words} · ${similarity.toFixed(3)}`);
    if (picture) addPicture(item, picture, `Similar image: ${words}`);
    return item;
  });
}
