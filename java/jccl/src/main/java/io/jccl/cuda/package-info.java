/**
 * Converts JCuda's pointers and streams for use in JCCL's operations. Only applications that use JCuda need this
 * package.
 */
@NullMarked
package io.jccl.cuda;

import org.jspecify.annotations.NullMarked;
