/** Where the API and what implements it meet, and what both use. Not exported: applications do not use it. */
package io.jccl.internal;
