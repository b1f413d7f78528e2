/** For applications that use JCuda: its pointers and streams in JCCL's operations. Nothing else needs this package. */
package io.jccl.cuda;
