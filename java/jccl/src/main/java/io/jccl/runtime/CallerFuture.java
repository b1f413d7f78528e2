package io.jccl.runtime;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * A future whose {@link #join} and {@link #getNow} throw an exception with the stack of their caller, as {@link #get()}
 * of every future does.
 */
class CallerFuture<T> extends CompletableFuture<T> {

    @Override
    public <U> CompletableFuture<U> newIncompleteFuture() {
        return new CallerFuture<>();
    }

    @Override
    public T join() {
        try {
            return super.join();
        } catch (CompletionException e) {
            throw ofCaller(e);
        }
    }

    @Override
    public T getNow(T absent) {
        try {
            return super.getNow(absent);
        } catch (CompletionException e) {
            throw ofCaller(e);
        }
    }

    /**
     * Returns a copy with the caller's stack, because the thread that completed the future may have created the
     * exception.
     */
    private static CompletionException ofCaller(CompletionException stored) {
        return stored.getCause() == null ? stored : new CompletionException(stored.getMessage(), stored.getCause());
    }
}
