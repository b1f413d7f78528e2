package io.jccl.internal;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.net.URLConnection;
import org.jspecify.annotations.Nullable;

/**
 * Opens resources of the jar without the JVM's cache of open jars. That cache keeps a jar's file descriptor after the
 * class loader is gone. In addition, class loaders of the same jar share one entry, which each of them can close for
 * the others.
 */
public final class Resources {

    private Resources() {}

    /**
     * Opens a resource.
     *
     * @param url the resource as its class or class loader found it; null if there is none
     * @return the bytes of the resource; null for null
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
