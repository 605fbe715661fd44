// Finds what a user means by a name: of the elements that match the selector, those that are to be
// seen and have this name, in the part of the page that shows `place`. Answers the elements, and all
// names there are, for who has sought in vain.

const [selector, name, place] = arguments;

const words = text => (text ?? '').replace(/\s+/g, ' ').trim();

// The text of a label, without that of the field in it.
function labelOf(label) {
  const copy = label.cloneNode(true);
  copy.querySelectorAll('input, select, textarea').forEach(field => field.remove());
  return words(copy.textContent);
}

function nameOf(element) {
  const named = (element.getAttribute('aria-labelledby') ?? '').split(' ')
    .map(id => words(document.getElementById(id)?.textContent)).join(' ').trim();
  const labels = [...(element.labels ?? [])].map(labelOf).join(' ').trim();
  const own = element.matches('input, select, textarea') ? element.value : element.innerText;
  return named || words(element.getAttribute('aria-label')) || labels || words(own)
    || words(element.title);
}

const isShown = element => element.checkVisibility({ visibilityProperty: true });

// The innermost parts of the page that show the place and hold one of the elements.
function partsWith(elements) {
  const parts = 'tr, li, fieldset, form, section, article, nav, aside, dialog, header, footer, main';
  const all = [...document.querySelectorAll(parts)].filter(part =>
    words(part.innerText).includes(place) && elements.some(element => part.contains(element)));
  return all.filter(part => !all.some(inner => inner !== part && part.contains(inner)));
}

let found = [...document.querySelectorAll(selector)].filter(isShown);
const names = found.map(nameOf);
found = found.filter(element => nameOf(element) === name);
if (place) {
  const parts = partsWith(found);
  found = found.filter(element => parts.some(part => part.contains(element)));
}
return { found, names };
