/**
 * Programs written for Open MPI's Java bindings, over JCCL. The classes have the names and the meaning of Open MPI's, so
 * such a program is compiled without changes; {@code docs/from-mpi.md} names what differs and what is missing.
 *
 * <p>This package is experimental.
 */
@NullMarked
package mpi;

import org.jspecify.annotations.NullMarked;
