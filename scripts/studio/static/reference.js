// Draws the reference with Scalar. Requests go to the studio's own address, and the studio adds the
// key. The page shows the service's address, so that its examples also work in a terminal.
const place = document.getElementById('reference');
const { base, company, form, settings } = place.dataset;

// toStudio returns the request as the studio accepts it, with the token of its forms. It returns a
// cancelled request if the person does not confirm a delete.
async function toStudio({ request }) {
  const isSure = request.method !== 'DELETE' || confirm(`Delete this record? It cannot be undone.\n\nDELETE ${request.url}`);
  if (!isSure || !request.url.startsWith(base + '/')) return { request: new Request(request, { signal: AbortSignal.abort(new Error('Nothing was sent.')) }) };
  const headers = new Headers(request.headers);
  headers.set('Studio-Form', form);
  const body = ['GET', 'HEAD'].includes(request.method) ? undefined : await request.text();
  return { request: new Request(new URL('reference/call' + request.url.slice(base.length), document.baseURI), { method: request.method, headers, body }) };
}

// withoutKey removes what concerns the key from the document, so that the page has no input for
// one, and fills in the company.
function withoutKey(openapi) {
  delete openapi.security;
  delete openapi.components.securitySchemes;
  openapi.components.parameters.companyId.example = company;
  return openapi;
}

fetch('reference/openapi.json').then(async response => {
  if (!response.ok) throw new Error(await response.text());
  Scalar.createApiReference(place, { ...JSON.parse(settings), content: withoutKey(await response.json()), onBeforeRequest: toStudio });
}).catch(error => {
  place.className = 'trouble';
  place.textContent = error.message;
});
