// SPDX-License-Identifier: MIT
// credentials_chain.mjs - prints the keys that the chain of AWS's own client finds in this environment.
import { fromNodeProviderChain } from "@aws-sdk/credential-providers";

const { accessKeyId, sessionToken } = await fromNodeProviderChain()();
console.log(JSON.stringify({ accessKeyId, sessionToken }));
