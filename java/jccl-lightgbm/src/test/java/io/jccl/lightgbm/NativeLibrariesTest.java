package io.jccl.lightgbm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.jccl.JcclException;
import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** Tests of native libraries that are missing or cannot be loaded. */
final class NativeLibrariesTest {

    private final ClassLoader loader = getClass().getClassLoader();

    @Test
    void loadingAgainDoesNothing() {
        LightGbmLibrary.load();
        assertThatCode(LightGbmLibrary::load).doesNotThrowAnyException();
        assertThatCode(LightGbmLibrary::requireLoaded).doesNotThrowAnyException();
    }

    @Test
    void missingLibraryIsNamed() {
        assertThatThrownBy(() -> NativeLibraries.loadLightGbm(loader, "no/such/folder/", "lib.so"))
                .isInstanceOf(JcclException.class)
                .hasMessageStartingWith("resource=no/such/folder/lib.so: expected it in a jar of the class path");
    }

    @Test
    void fileThatIsNoLibraryIsNamed() {
        assertThatThrownBy(() -> NativeLibraries.loadLightGbm(loader, "io/jccl/lightgbm/", "FoldOrder.class"))
                .isInstanceOf(JcclException.class)
                .hasMessageMatching("library=.*FoldOrder.class: cannot be loaded: .*");
    }

    /** Uses another class loader, whose {@link LightGbmLibrary} has not loaded the library. */
    @Test
    void networkIsRefusedBeforeLightGbmsLibraryIsLoaded() throws Exception {
        URL[] classPath = Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .map(NativeLibrariesTest::url)
                .toArray(URL[]::new);
        try (URLClassLoader other = new URLClassLoader(classPath, ClassLoader.getPlatformClassLoader())) {
            Method require = other.loadClass(LightGbmLibrary.class.getName()).getDeclaredMethod("requireLoaded");
            require.setAccessible(true);
            assertThat(catchThrowable(() -> require.invoke(null)))
                    .isInstanceOf(InvocationTargetException.class)
                    .cause()
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("LightGBM's library is not loaded: call LightGbmLibrary.load() first");
        }
    }

    private static URL url(String path) {
        try {
            return Path.of(path).toUri().toURL();
        } catch (MalformedURLException e) {
            throw new IllegalArgumentException(path, e);
        }
    }
}
