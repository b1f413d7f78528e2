package io.jccl.api;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.Communicator;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.lang.reflect.AnnotatedType;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Type;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Compares the classes that applications can see, member by member, with {@code public-api.txt}. An intended change of
 * the API updates that file in the same commit: {@code mvn test -Dtest=PublicApiTest -Djccl.update=true} writes the
 * file.
 */
class PublicApiTest {

    private static final Path RECORD = Path.of("src/test/resources/io/jccl/api/public-api.txt");
    private static final int SHOWN = Modifier.PUBLIC | Modifier.PROTECTED;

    @Test
    void thePublicApiEqualsTheRecordedOne() throws Exception {
        String api = exportedPackages().map(PublicApiTest::describePackage).collect(Collectors.joining("\n"));
        if (Boolean.getBoolean("jccl.update")) {
            Files.createDirectories(RECORD.getParent());
            Files.writeString(RECORD, api);
        }
        assertThat(api)
                .as("the public API; if the change is intended, update " + RECORD + " with -Djccl.update=true")
                .isEqualTo(Files.readString(RECORD));
    }

    private static Path classes() throws Exception {
        return Path.of(Communicator.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toURI());
    }

    private static Stream<String> exportedPackages() throws Exception {
        return ModuleFinder.of(classes()).find("io.jccl").orElseThrow().descriptor().exports().stream()
                .filter(exported -> !exported.isQualified())
                .map(ModuleDescriptor.Exports::source)
                .sorted();
    }

    private static String describePackage(String name) {
        try (Stream<Path> files = Files.list(classes().resolve(name.replace('.', '/')))) {
            List<Class<?>> types = new ArrayList<>();
            for (Path file : files.sorted().toList()) {
                String simple = file.getFileName().toString();
                if (simple.endsWith(".class") && !simple.equals("package-info.class")) {
                    types.add(Class.forName(
                            name + "." + simple.substring(0, simple.length() - ".class".length()),
                            false,
                            Communicator.class.getClassLoader()));
                }
            }
            return "package " + name + "\n\n"
                    + types.stream()
                            .filter(PublicApiTest::isShown)
                            .map(PublicApiTest::describe)
                            .collect(Collectors.joining("\n"));
        } catch (Exception e) {
            throw new AssertionError(name, e);
        }
    }

    private static boolean isShown(Class<?> type) {
        Class<?> outer = type.getDeclaringClass();
        return (type.getModifiers() & SHOWN) != 0 && !type.isAnonymousClass() && (outer == null || isShown(outer));
    }

    private static String describe(Class<?> type) {
        String kind = type.isRecord() ? "record" : type.isEnum() ? "enum" : type.isInterface() ? "interface" : "class";
        int modifiers = type.getModifiers() & (Modifier.classModifiers() & ~Modifier.STATIC);
        boolean isImplied = type.isRecord() || type.isEnum() || type.isInterface();
        String head = Modifier.toString(isImplied ? modifiers & SHOWN : modifiers)
                + (type.isSealed() ? " sealed " : " ") + kind + " " + type.getName() + parameters(type);
        Type parent = type.getGenericSuperclass();
        if (!isImplied && parent != Object.class) {
            head += " extends " + parent.getTypeName();
        }
        String interfaces = Arrays.stream(type.getGenericInterfaces())
                .map(Type::getTypeName)
                .collect(Collectors.joining(", "));
        head += interfaces.isEmpty() ? "" : (type.isInterface() ? " extends " : " implements ") + interfaces;
        Stream<String> members = Stream.of(
                        Arrays.stream(type.getDeclaredFields())
                                .filter(field -> isShown(field.getModifiers(), field.isSynthetic()))
                                .map(PublicApiTest::describe),
                        Arrays.stream(type.getDeclaredConstructors())
                                .filter(constructor -> isShown(constructor.getModifiers(), constructor.isSynthetic()))
                                .map(constructor -> describe(constructor, "new")),
                        Arrays.stream(type.getDeclaredMethods())
                                .filter(method -> isShown(method.getModifiers(), method.isSynthetic()))
                                .map(PublicApiTest::describe))
                .flatMap(Stream::sorted);
        return Stream.concat(Stream.of(head), members.map(member -> "    " + member))
                .collect(Collectors.joining("\n", "", "\n"));
    }

    private static boolean isShown(int modifiers, boolean synthetic) {
        return (modifiers & SHOWN) != 0 && !synthetic;
    }

    private static String parameters(Class<?> type) {
        String names =
                Arrays.stream(type.getTypeParameters()).map(Type::getTypeName).collect(Collectors.joining(", "));
        return names.isEmpty() ? "" : "<" + names + ">";
    }

    private static String describe(Field field) {
        String constant = "";
        if (Modifier.isStatic(field.getModifiers()) && field.getType().isPrimitive()) {
            try {
                constant = " = " + field.get(null);
            } catch (IllegalAccessException e) {
                throw new AssertionError(field.toString(), e);
            }
        }
        return Modifier.toString(field.getModifiers()) + " " + name(field.getAnnotatedType()) + " " + field.getName()
                + constant;
    }

    private static String describe(Method method) {
        String result = (method.isDefault() ? "default " : "") + name(method.getAnnotatedReturnType());
        return describe(method, result + " " + method.getName());
    }

    private static String describe(Executable executable, String name) {
        String thrown = Arrays.stream(executable.getExceptionTypes())
                .map(Class::getName)
                .collect(Collectors.joining(", "));
        return Modifier.toString(executable.getModifiers() & ~(Modifier.TRANSIENT | Modifier.VOLATILE)) + " " + name
                + Arrays.stream(executable.getParameters())
                        .map(parameter -> name(parameter.getAnnotatedType()))
                        .collect(Collectors.joining(", ", "(", ")"))
                + (thrown.isEmpty() ? "" : " throws " + thrown);
    }

    private static String name(AnnotatedType type) {
        return (type.isAnnotationPresent(Nullable.class) ? "@Nullable " : "")
                + type.getType().getTypeName();
    }
}
