package io.jccl.internal;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.net.URLConnection;
import org.jspecify.annotations.Nullable;

/**
 * Resources of the jar, read without the JVM's cache of open jars. That cache keeps a jar's descriptor after the class loader
 * has gone, and class loaders of the same jar close its one entry for each other.
 */
public final class Resources {

    private Resources() {}

    /**
     * The bytes of a resource.
     *
     * @param url as its class or class loader has found it; null if there is none
     * @return null for null
     */
    public static @Nullable InputStream open(@Nullable URL url) throws IOException {
        if (url == null) {
            return null;
        }
        URLConnection connection = url.openConnection();
        connection.setUseCaches(false);
        return connection.getInputStream();
    }
}
