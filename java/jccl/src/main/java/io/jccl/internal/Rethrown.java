package io.jccl.internal;

import io.jccl.AbortedException;
import io.jccl.BootstrapException;
import io.jccl.CommunicationTimeoutException;
import io.jccl.DeviceException;
import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.MessageTooLongException;
import io.jccl.MismatchedCollectiveException;
import io.jccl.PeerFailedException;
import io.jccl.TransportException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Makes exceptions for a caller from one that was thrown earlier or on another thread. Each caller gets a new
 * exception, whose stack shows the caller's call, and to which no other thread can add suppressed exceptions.
 */
public final class Rethrown {

    private Rethrown() {}

    /**
     * Returns a new exception with the class, message and facts of {@code first}. Its stack is the caller's, and its
     * cause is {@code first}.
     */
    public static JcclException here(JcclException first) {
        return like(first, first.getMessage(), first);
    }

    /** Returns a new exception with the class and facts of a model. Its stack is the caller's. */
    public static JcclException like(JcclException model, String message, @Nullable Throwable cause) {
        if (model instanceof CommunicationTimeoutException e) {
            return new CommunicationTimeoutException(message, e.missingRanks(), cause);
        }
        if (model instanceof PeerFailedException e) {
            return new PeerFailedException(message, e.failedRanks(), cause);
        }
        if (model instanceof MismatchedCollectiveException e) {
            return new MismatchedCollectiveException(message, e.rows(), cause);
        }
        if (model instanceof TransportException) {
            return new TransportException(message, cause);
        }
        if (model instanceof AbortedException) {
            return new AbortedException(message, cause);
        }
        if (model instanceof BootstrapException) {
            return new BootstrapException(message, cause);
        }
        if (model instanceof DeviceException) {
            return new DeviceException(message, cause);
        }
        if (model instanceof MessageTooLongException) {
            return new MessageTooLongException(message, cause);
        }
        if (model instanceof InterruptedCommunicationException) {
            return new InterruptedCommunicationException(message, cause);
        }
        return new JcclException(message, cause);
    }

    /**
     * Returns the exception to throw to a caller whose call another thread has executed.
     *
     * @param thrown the exception of the other thread; no other caller may receive it
     * @throws Error if the other thread has thrown an error
     */
    public static RuntimeException byCallee(Throwable thrown) {
        Throwable mine = forCall(thrown, new Throwable().getStackTrace());
        if (mine instanceof Error error) {
            throw error;
        }
        return (RuntimeException) mine;
    }

    /**
     * Returns what another thread has thrown, as an unchecked exception or an error, with the stack of the call that
     * the thread worked for.
     *
     * @param thrown the exception of the other thread; no other call may receive it
     * @param call the stack of the thread that called
     */
    public static Throwable forCall(Throwable thrown, StackTraceElement[] call) {
        Throwable made = null;
        if (thrown instanceof JcclException e) {
            made = here(e);
        } else if (thrown.getClass() == IllegalArgumentException.class) {
            made = new IllegalArgumentException(thrown.getMessage(), thrown);
        } else if (thrown.getClass() == IllegalStateException.class) {
            made = new IllegalStateException(thrown.getMessage(), thrown);
        } else if (!(thrown instanceof RuntimeException) && !(thrown instanceof Error)) {
            made = new JcclException(thrown.toString(), thrown);
        }
        if (made != null) {
            made.setStackTrace(call);
            return made;
        }
        // Exceptions of other classes cannot be copied: append the frames of the call to those of the other thread.
        StackTraceElement[] there = thrown.getStackTrace();
        StackTraceElement[] both = Arrays.copyOf(there, there.length + call.length);
        System.arraycopy(call, 0, both, there.length, call.length);
        thrown.setStackTrace(both);
        return thrown;
    }
}
