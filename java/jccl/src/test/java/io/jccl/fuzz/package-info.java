/** Fuzz targets for all readers of bytes from other processes or users: {@code scripts/check-fuzz} runs them. */
package io.jccl.fuzz;
