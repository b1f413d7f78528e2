/** Fuzzing of everything that reads bytes of others: {@code scripts/check-fuzz}. */
package io.jccl.fuzz;
