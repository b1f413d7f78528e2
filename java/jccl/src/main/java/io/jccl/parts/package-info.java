/**
 * The parts that can be left out reach the rest of the library through these interfaces. Each part has a package of its own;
 * {@code io.jccl.init.Parts} lists them.
 */
package io.jccl.parts;
