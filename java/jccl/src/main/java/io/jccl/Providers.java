package io.jccl;

import io.jccl.internal.JcclProvider;
import java.util.Iterator;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;

/** Finds the implementation of the API when it is first needed, and keeps it. */
final class Providers {

    private Providers() {}

    static JcclProvider provider() {
        return Holder.PROVIDER;
    }

    private static final class Holder {
        static final JcclProvider PROVIDER = load();

        private static JcclProvider load() {
            Iterator<JcclProvider> found = ServiceLoader.load(JcclProvider.class, JcclProvider.class.getClassLoader())
                    .iterator();
            if (!found.hasNext()) {
                throw new ServiceConfigurationError("provider=none: no " + JcclProvider.class.getName()
                        + " on the class path; keep META-INF/services when JCCL is packed into a larger jar");
            }
            return found.next();
        }
    }
}
