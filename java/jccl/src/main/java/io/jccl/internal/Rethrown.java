package io.jccl.internal;

import io.jccl.AbortedException;
import io.jccl.BootstrapException;
import io.jccl.CommunicationTimeoutException;
import io.jccl.DeviceException;
import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.MismatchedCollectiveException;
import io.jccl.PeerFailedException;
import io.jccl.TransportException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Throws on the thread of a caller what was thrown earlier or on another thread. The caller gets an exception of its own: its
 * stack shows the call, and no other thread adds suppressed exceptions to it.
 */
public final class Rethrown {

    private Rethrown() {}

    /** A new exception with the class, message and facts of another one, which is its cause. Its stack is the caller's. */
    public static JcclException here(JcclException first) {
        return like(first, first.getMessage(), first);
    }

    /** A new exception with the class and facts of a model. Its stack is the caller's. */
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
        if (model instanceof InterruptedCommunicationException) {
            return new InterruptedCommunicationException(message, cause);
        }
        return new JcclException(message, cause);
    }

    /**
     * Returns the exception that a caller throws for a call that another thread has executed for it.
     *
     * @param thrown what the other thread has thrown, for this caller alone
     * @throws Error if that is what the other thread has thrown
     */
    public static RuntimeException byCallee(Throwable thrown) {
        Throwable mine = forCall(thrown, new Throwable().getStackTrace());
        if (mine instanceof Error error) {
            throw error;
        }
        return (RuntimeException) mine;
    }

    /**
     * Returns what another thread has thrown as an unchecked exception with the stack of the call that the thread worked for.
     *
     * @param thrown what the other thread has thrown, for this call alone
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
        // An object of another class cannot be made again: the frames of the call follow those of the other thread.
        StackTraceElement[] there = thrown.getStackTrace();
        StackTraceElement[] both = Arrays.copyOf(there, there.length + call.length);
        System.arraycopy(call, 0, both, there.length, call.length);
        thrown.setStackTrace(both);
        return thrown;
    }
}
