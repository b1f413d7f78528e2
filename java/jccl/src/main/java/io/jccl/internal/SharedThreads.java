package io.jccl.internal;

import java.security.AccessController;
import java.security.PrivilegedAction;
import java.util.function.Supplier;

/**
 * Makes threads that serve all communicators of the process. Such a thread can outlive the application whose call
 * started it, so it must not keep a class loader of that application. A new thread usually keeps class loaders in two
 * ways: by its context class loader, and by the protection domains of its callers.
 */
public final class SharedThreads {

    private SharedThreads() {}

    /**
     * Returns a new thread, not started.
     *
     * @param make makes the thread, with a method of {@link ServiceThread}
     */
    @SuppressWarnings("removal") // or a thread inherits the callers' context, even without a security manager
    public static ServiceThread create(Supplier<ServiceThread> make) {
        return AccessController.doPrivileged((PrivilegedAction<ServiceThread>) () -> {
            ServiceThread thread = make.get();
            thread.setContextClassLoader(SharedThreads.class.getClassLoader());
            return thread;
        });
    }
}
