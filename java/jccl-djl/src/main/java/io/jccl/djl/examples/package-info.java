/** Programs that show and measure {@link io.jccl.djl}. */
@NullMarked
package io.jccl.djl.examples;

import org.jspecify.annotations.NullMarked;
