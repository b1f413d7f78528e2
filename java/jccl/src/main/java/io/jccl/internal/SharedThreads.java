package io.jccl.internal;

import java.security.AccessController;
import java.security.PrivilegedAction;
import java.util.function.Supplier;

/**
 * Makes threads that serve all communicators of the process. Such a thread may outlive the application whose call started it,
 * so it keeps none of that application's class loaders: neither as its context class loader, nor through the protection
 * domains of the callers that every new thread remembers.
 */
public final class SharedThreads {

    private SharedThreads() {}

    /**
     * Returns a thread that is not started.
     *
     * @param make makes the thread, by a method of {@link ServiceThread}
     */
    @SuppressWarnings("removal") // the context of the callers is otherwise inherited, also without a security manager
    public static ServiceThread create(Supplier<ServiceThread> make) {
        return AccessController.doPrivileged((PrivilegedAction<ServiceThread>) () -> {
            ServiceThread thread = make.get();
            thread.setContextClassLoader(SharedThreads.class.getClassLoader());
            return thread;
        });
    }
}
