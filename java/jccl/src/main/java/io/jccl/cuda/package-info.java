/** For applications that use JCuda: its pointers and streams in JCCL's operations. Nothing else needs this package. */
@NullMarked
package io.jccl.cuda;

import org.jspecify.annotations.NullMarked;
