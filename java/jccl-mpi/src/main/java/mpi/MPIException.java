package mpi;

import io.jccl.JcclException;
import io.jccl.MessageTooLongException;

/** A call that failed, or that this module does not have. */
public class MPIException extends Exception {

    private static final long serialVersionUID = 1L;

    private final int errorClass;

    MPIException(int errorClass, String message) {
        super(message);
        this.errorClass = errorClass;
    }

    MPIException(int errorClass, String message, Throwable cause) {
        super(message, cause);
        this.errorClass = errorClass;
    }

    /** Returns what a failure of the library means here. */
    static MPIException of(RuntimeException e) {
        int errorClass = e instanceof MessageTooLongException
                ? MPI.ERR_TRUNCATE
                : e instanceof JcclException ? MPI.ERR_OTHER : MPI.ERR_ARG;
        return new MPIException(errorClass, e.toString(), e);
    }

    /** Returns the exception of a call that this module does not have. */
    static MPIException missing(String call, String instead) {
        return new MPIException(
                MPI.ERR_UNSUPPORTED_OPERATION, call + ": JCCL's module for MPI programs has no such call; " + instead);
    }

    /** Returns the class of the error, such as {@link MPI#ERR_TRUNCATE}. */
    public int getErrorClass() {
        return errorClass;
    }

    /** Returns the same as {@link #getErrorClass()}. */
    public int getErrorCode() {
        return errorClass;
    }
}
