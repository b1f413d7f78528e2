/** Programs that show how to use {@link io.jccl.djl}, and measure it. */
@NullMarked
package io.jccl.djl.examples;

import org.jspecify.annotations.NullMarked;
