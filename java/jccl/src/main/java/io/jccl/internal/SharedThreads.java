package io.jccl.internal;

import java.security.AccessController;
import java.security.PrivilegedAction;

/**
 * Makes threads that serve all communicators of the process. Such a thread may outlive the application whose call started it,
 * so it keeps none of that application's class loaders: neither as its context class loader, nor through the protection
 * domains of the callers that every new thread remembers.
 */
public final class SharedThreads {

    private SharedThreads() {}

    /** A daemon thread that is not started. */
    @SuppressWarnings("removal") // the context of the callers is otherwise inherited, also without a security manager
    public static Thread create(String name, Runnable body) {
        return AccessController.doPrivileged((PrivilegedAction<Thread>) () -> {
            Thread thread = new Thread(null, body, name, 0, false); // no inheritable thread locals either
            thread.setDaemon(true);
            thread.setContextClassLoader(SharedThreads.class.getClassLoader());
            return thread;
        });
    }
}
