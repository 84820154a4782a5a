//! The table of recipes.

use super::*;

/// A recipe in one line.
fn told(files: &[(&str, &str)]) -> String {
    let recipe = match detect(&Listing::of(files)) {
        Ok(recipe) => recipe,
        Err(why) => return format!("refused: {why}"),
    };
    let commands = |list: &[Vec<String>]| list.iter().map(|c| c.join(" ")).collect::<Vec<_>>();
    let start = match recipe.start {
        Start::Shell(line) => format!("sh: {line}"),
        Start::Program(command) => format!("run: {}", command.join(" ")),
        Start::Files(places) => format!("files: {}", places.join(" ")),
        Start::Jar(places) => format!("jar: {}", places.join(" ")),
    };
    let layer = recipe.layer.map(|layer| format!("keep {}", layer.directory));
    let mut parts = vec![recipe.language.to_owned()];
    parts.extend(commands(&recipe.install));
    parts.extend(commands(&recipe.build));
    parts.extend(layer);
    parts.push(start);
    parts.join("; ")
}

#[test]
fn pages_and_procfiles() {
    let table: &[(&[(&str, &str)], &str)] = &[
        (&[("index.html", "")], "static; files: ."),
        (&[("public/index.html", "")], "static; files: public"),
        (&[("dist/index.html", "")], "static; files: dist"),
        (&[("Procfile", "# hi\nworker: x\nweb:  ./serve $PORT ")], "procfile; sh: ./serve $PORT"),
        (
            &[("Procfile", "web: python app.py"), ("app.py", ""), ("requirements.txt", "")],
            "python; python3 -m venv --without-pip .venv; sh: python app.py",
        ),
        (&[("Procfile", "web: node x.js"), ("package.json", "{}")], "node; sh: node x.js"),
        (
            &[("Procfile", "worker: x")],
            "refused: the Procfile has no `web:` line; write `web: <command that listens on $PORT>`",
        ),
        (
            &[("README", "")],
            "refused: found nothing to build: looked for Procfile, go.mod, package.json, requirements.txt, \
             pyproject.toml, app.py, main.py, Gemfile, pom.xml, build.gradle, Cargo.toml, index.html",
        ),
        (
            &[
                ("go.mod", "module x"),
                ("main.go", "package main"),
                ("package.json", "{}"),
                ("index.html", ""),
            ],
            "go; go build -o bin/app .; run: bin/app",
        ),
    ];
    for (row, (files, want)) in table.iter().enumerate() {
        assert_eq!(told(files), *want, "row {row}");
    }
}

#[test]
fn go_modules() {
    let table: &[(&[(&str, &str)], &str)] = &[
        (
            &[("go.mod", "module shop"), ("main.go", "package main\n")],
            "go; go build -o bin/app .; run: bin/app",
        ),
        (
            &[("go.mod", "module shop"), ("lib.go", "package shop"), ("cmd/web/main.go", "")],
            "go; go build -o bin/app ./cmd/web; run: bin/app",
        ),
        (
            &[("go.mod", "module a.example/shop\n"), ("cmd/shop/main.go", ""), ("cmd/tool/main.go", "")],
            "go; go build -o bin/app ./cmd/shop; run: bin/app",
        ),
        (
            &[("go.mod", "module x"), ("cmd/a/main.go", ""), ("cmd/b/main.go", "")],
            "refused: there are several commands under cmd/ (a, b) and none is named `x` as the module",
        ),
        (
            &[("go.mod", "module x"), ("lib.go", "package x")],
            "refused: go.mod is there, but no `package main` in the root and no command under cmd/",
        ),
    ];
    for (row, (files, want)) in table.iter().enumerate() {
        assert_eq!(told(files), *want, "row {row}");
    }
}

#[test]
fn node_packages() {
    let start = r#"{"scripts":{"start":"node server.js"}}"#;
    let depends = r#"{"main":"./lib/x.js","dependencies":{"a":"1"}}"#;
    let hooked = r#"{"scripts":{"start":"x","prestart":"y","build":"z","postinstall":"w"}}"#;
    let site = r#"{"scripts":{"build":"vite build"},"devDependencies":{"vite":"5"}}"#;
    let table: &[(&[(&str, &str)], &str)] = &[
        (&[("package.json", start)], "node; sh: node server.js"),
        (&[("package.json", "{}"), ("server.js", "")], "node; run: node server.js"),
        (
            &[("package.json", depends), ("lib/x.js", "")],
            "node; npm install --no-audit --no-fund; run: node ./lib/x.js",
        ),
        (
            &[("package.json", depends), ("package-lock.json", ""), ("lib/x.js", "")],
            "node; npm ci --no-audit --no-fund; keep node_modules; run: node ./lib/x.js",
        ),
        (
            &[("package.json", depends), ("yarn.lock", ""), ("index.js", "")],
            "node; yarn install --frozen-lockfile; keep node_modules; run: node index.js",
        ),
        (
            &[("package.json", hooked), ("package-lock.json", "")],
            "node; npm ci --no-audit --no-fund; npm run build; run: npm start",
        ),
        (
            &[("package.json", site), ("package-lock.json", "")],
            "node; npm ci --no-audit --no-fund; npm run build; keep node_modules; files: public dist build out",
        ),
        (
            &[("package.json", "{}")],
            "refused: package.json has no `start` script and no `main`, and there is no server.js; \
             say what is started",
        ),
    ];
    for (row, (files, want)) in table.iter().enumerate() {
        assert_eq!(told(files), *want, "row {row}");
    }
    assert!(told(&[("package.json", "{")]).starts_with("refused: package.json cannot be read: "));
}

#[test]
fn python_programs() {
    let bare = "python; python3 -m venv --without-pip .venv";
    let full =
        "python; python3 -m venv .venv; .venv/bin/python -m pip install -r requirements.txt; keep .venv";
    let bind = "exec .venv/bin/python -m gunicorn --bind \"127.0.0.1:${PORT:-8080}\"";
    let host = "--host 127.0.0.1 --port \"${PORT:-8080}\"";
    let project = "[project]\nname = \"shop\"\n[project.scripts]\nshop = \"shop:main\"\nother = \"x:y\"\n[tool.x]\na = 1";
    let table: &[(&[(&str, &str)], String)] = &[
        (&[("app.py", "print(1)")], format!("{bare}; run: .venv/bin/python app.py")),
        (
            &[("main.py", ""), ("requirements.txt", "# none\n")],
            format!("{bare}; run: .venv/bin/python main.py"),
        ),
        (
            &[("app.py", "app = Flask(__name__)"), ("requirements.txt", "Flask\ngunicorn==22\n")],
            format!("{full}; sh: {bind} app:app"),
        ),
        (
            &[("main.py", "app: FastAPI = FastAPI()"), ("requirements.txt", "fastapi\nuvicorn\ngunicorn")],
            format!("{full}; sh: exec .venv/bin/python -m uvicorn {host} main:app"),
        ),
        (
            &[("app.py", "app = Flask(__name__)"), ("requirements.txt", "flask")],
            format!("{full}; sh: exec .venv/bin/python -m flask --app app:app run {host}"),
        ),
        (
            &[("app.py", "app = Flask(__name__)\napp.run()"), ("requirements.txt", "flask")],
            format!("{full}; run: .venv/bin/python app.py"),
        ),
        (
            &[("manage.py", ""), ("site1/wsgi.py", ""), ("requirements.txt", "django\ngunicorn")],
            format!("{full}; sh: {bind} site1.wsgi"),
        ),
        (
            &[("app.py", ""), ("requirements.txt", "-r more.txt")],
            "python; python3 -m venv .venv; .venv/bin/python -m pip install -r requirements.txt; \
             run: .venv/bin/python app.py"
                .into(),
        ),
        (
            &[("pyproject.toml", project)],
            "python; python3 -m venv .venv; .venv/bin/python -m pip install .; \
             run: .venv/bin/python .venv/bin/shop"
                .into(),
        ),
        (
            &[("requirements.txt", "flask"), ("shop.py", "")],
            "refused: found Python, but neither app.py nor main.py nor one script in pyproject.toml; \
             write a Procfile with a `web:` line"
                .into(),
        ),
        (
            &[
                ("manage.py", ""),
                ("a;rm -rf x/wsgi.py", ""),
                ("requirements.txt", "gunicorn"),
                ("app.py", ""),
            ],
            format!("{full}; run: .venv/bin/python app.py"),
        ),
    ];
    for (row, (files, want)) in table.iter().enumerate() {
        assert_eq!(told(files), *want, "row {row}");
    }
}

#[test]
fn ruby_java_and_rust() {
    let shop = "[package]\nname = \"shop\"\n";
    let built = |name: &str| {
        format!(
            "rust; cargo build --release --bin {name}; mkdir -p bin; \
             cp -- {{cache}}/cargo/target/release/{name} bin/{name}; run: bin/{name}"
        )
    };
    let table: &[(&[(&str, &str)], String)] = &[
        (
            &[("Gemfile", ""), ("Gemfile.lock", ""), ("config.ru", "")],
            "ruby; bundle install; keep vendor/bundle; sh: exec bundle exec rackup --host 127.0.0.1 \
             --port \"${PORT:-9292}\""
                .into(),
        ),
        (&[("Gemfile", ""), ("app.rb", "")], "ruby; bundle install; run: bundle exec ruby app.rb".into()),
        (
            &[("pom.xml", "")],
            "java; mvn -q -B -DskipTests -Dmaven.repo.local={cache}/m2 package; jar: target".into(),
        ),
        (&[("build.gradle.kts", "")], "java; gradle -q --no-daemon build -x test; jar: build/libs".into()),
        (&[("Cargo.toml", shop), ("src/main.rs", "")], built("shop")),
        (&[("Cargo.toml", shop), ("src/main.rs", ""), ("src/bin/tool.rs", "")], built("shop")),
        (&[("Cargo.toml", shop), ("src/bin/web.rs", "")], built("web")),
        (
            &[
                ("Cargo.toml", "[package]\nname = \"shop\"\n[[bin]]\nname = \"web\"\npath = \"src/main.rs\""),
                ("src/main.rs", ""),
            ],
            built("web"),
        ),
        (
            &[
                ("Cargo.toml", "[package]\nname = \"x\"\ndefault-run = \"b\""),
                ("src/bin/a.rs", ""),
                ("src/bin/b.rs", ""),
            ],
            built("b"),
        ),
        (
            &[
                ("Cargo.toml", "[workspace]"),
                ("crates/web/Cargo.toml", "[package]\nname = \"web\""),
                ("crates/web/src/main.rs", ""),
                ("crates/lib/Cargo.toml", "[package]\nname = \"lib\""),
            ],
            built("web"),
        ),
        (
            &[("Cargo.toml", "[package]\nname = \"x\""), ("src/bin/a.rs", ""), ("src/bin/b.rs", "")],
            "refused: there are several programs (a, b); name one as `default-run` in Cargo.toml".into(),
        ),
        (
            &[("Cargo.toml", shop), ("src/lib.rs", "")],
            "refused: Cargo.toml is there, but no program: neither src/main.rs nor a [[bin]]".into(),
        ),
    ];
    for (row, (files, want)) in table.iter().enumerate() {
        assert_eq!(told(files), *want, "row {row}");
    }
}
