/**
 * Collective communications for the JVM: ranks, which are processes or threads, exchange and reduce buffers together.
 *
 * <pre>{@code
 * try (Communicator comm = Communicator.fromEnvironment()) {
 *     comm.allReduce(DataBuffer.of(gradients), ReduceOp.AVG).await();
 * }
 * }</pre>
 *
 * <p>Mistakes of the caller throw {@link java.lang.IllegalArgumentException} or {@link java.lang.IllegalStateException}
 * before anything is sent. Every other failure throws a {@link io.jccl.JcclException}. Counts are in elements and sizes
 * in bytes; both are {@code long}.
 */
@NullMarked
package io.jccl;

import org.jspecify.annotations.NullMarked;
