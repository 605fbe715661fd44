// The mark to pass: node:http, which answers the bytes of a file from memory, and neither parses
// the request's body nor looks anything up. One process, as Node.js runs by default.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const [host, port, file] = process.argv.slice(2);
const answer = readFileSync(file);
const headers = { "content-type": "application/json", "content-length": answer.length };

createServer((request, response) => {
  request.resume();
  request.on("end", () => response.writeHead(200, headers).end(answer));
}).listen(Number(port), host);
